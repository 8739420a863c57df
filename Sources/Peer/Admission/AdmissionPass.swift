internal import Cryptography
package import Identifiers

/// Computes and checks what an admitted viewer shows to other servers of the same broadcast, which then ask nobody
/// about it again:
///
///     HMAC-SHA256(key, "share v1 pass" | ID | viewer's fingerprint | browser's key)
///
/// That of a viewer whom a rule has admitted, and no person, has "share v1 pass by rule" instead.
/// Only the servers have the key. The pass is of no use without the viewer's own key, which signs each knock.
package struct AdmissionPass: Sendable {
    /// In bytes.
    package static let keyLength = 32
    private let id: BroadcastID
    private let key: HMACKey

    /// - Parameter key: 32 bytes.
    package init(_ id: BroadcastID, key: [UInt8]) {
        self.id = id
        self.key = HMACKey(key)
    }

    /// 32 bytes.
    package func text(for viewer: ViewerIdentity, _ kind: AdmissionPassKind = .ofPerson) -> [UInt8] {
        key.code(for: message(viewer, kind))
    }

    /// Returns what kind of pass this is; nil if it is none of this viewer. Compares in constant time.
    package func kind(of pass: [UInt8], for viewer: ViewerIdentity) -> AdmissionPassKind? {
        AdmissionPassKind.allCases.first { key.isValid(pass, for: message(viewer, $0)) }
    }

    private func message(_ viewer: ViewerIdentity, _ kind: AdmissionPassKind) -> [UInt8] {
        Array(kind.rawValue.utf8) + Array(id.text.utf8) + viewer.fingerprint + (viewer.key ?? [])
    }
}
