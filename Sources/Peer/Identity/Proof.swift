internal import Cryptography
public import Identifiers

/// Computes and checks proofs that a peer knows the link's secret. A proof is bound to certificates, so replaying it is
/// useless without the certificate's key.
///
///     viewer  HMAC-SHA256(HKDF-SHA256(secret, info "share v1 viewer"), ID | viewer's fingerprint)
///     host    HMAC-SHA256(HKDF-SHA256(secret, info "share v1 host"),   ID | viewer's fingerprint | host's fingerprint)
///
/// HKDF (RFC 5869) has an empty salt and 32 bytes of output. The ID is its 13 characters, a fingerprint its 32 bytes
/// (SHA-256).
public struct Proof: Sendable {
    private let id: BroadcastID
    private let viewerKey: HMACKey
    private let hostKey: HMACKey

    public init(id: BroadcastID, secret: [UInt8]) {
        self.id = id
        viewerKey = Self.derive(secret, "share v1 viewer")
        hostKey = Self.derive(secret, "share v1 host")
    }

    public init(link: Link) { self.init(id: link.id, secret: link.secret) }

    /// The viewer's proof, 32 bytes.
    public func viewer(fingerprint: [UInt8]) -> [UInt8] {
        viewerKey.code(for: viewerMessage(fingerprint))
    }

    /// The host's proof, 32 bytes.
    public func host(viewer: [UInt8], host: [UInt8]) -> [UInt8] {
        hostKey.code(for: viewerMessage(viewer) + host)
    }

    /// Compares in constant time.
    public func isViewer(_ proof: [UInt8], fingerprint: [UInt8]) -> Bool {
        viewerKey.isValid(proof, for: viewerMessage(fingerprint))
    }

    /// Compares in constant time.
    public func isHost(_ proof: [UInt8], viewer: [UInt8], host: [UInt8]) -> Bool {
        hostKey.isValid(proof, for: viewerMessage(viewer) + host)
    }

    private func viewerMessage(_ fingerprint: [UInt8]) -> [UInt8] { Array(id.text.utf8) + fingerprint }

    private static func derive(_ secret: [UInt8], _ info: String) -> HMACKey {
        HMACKey(HKDF.derive(secret, info: Array(info.utf8), count: 32))
    }
}

extension Proof: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["id": id.text]) }
}
