internal import Crypto

/// Computes and checks what an admitted viewer shows to other servers of the same broadcast, which then ask nobody about
/// it again:
///
///     HMAC-SHA256(key, "share v1 pass" | ID | viewer's fingerprint | browser's key)
///
/// Only the servers have the key. The pass is of no use without the viewer's own key, which signs each knock.
package struct AdmissionPass: Sendable {
    /// In bytes.
    package static let keyLength = 32
    private let id: BroadcastID
    private let key: SymmetricKey

    /// - Parameter key: 32 bytes.
    package init(_ id: BroadcastID, key: [UInt8]) {
        self.id = id
        self.key = SymmetricKey(data: key)
    }

    /// 32 bytes.
    package func text(for viewer: ViewerIdentity) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message(viewer), using: key))
    }

    /// Compares in constant time.
    package func isValid(_ pass: [UInt8], for viewer: ViewerIdentity) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(pass, authenticating: message(viewer), using: key)
    }

    private func message(_ viewer: ViewerIdentity) -> [UInt8] {
        Array("share v1 pass".utf8) + Array(id.text.utf8) + viewer.fingerprint + (viewer.key ?? [])
    }
}
