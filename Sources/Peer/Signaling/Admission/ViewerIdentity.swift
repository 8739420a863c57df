/// Who knocks, as far as a signature has proven it.
///
/// Two identities are the same person's only if both members are equal. A browser's `fingerprint` is a claim that only the
/// DTLS handshake proves, so nothing may be granted, counted or closed by the fingerprint alone.
public struct ViewerIdentity: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// `share join`: the key of the certificate itself signs knocks.
        case native
        /// A web page: a WebCrypto key beside the certificate signs knocks. It lives in the browser's storage for the origin, the
        /// host's address and port.
        case browser
    }

    /// SHA-256 of the viewer's DTLS certificate, 32 bytes.
    public let fingerprint: [UInt8]
    /// The browser's P-256 key, uncompressed (65 bytes); nil for a native viewer.
    public let key: [UInt8]?

    public var kind: Kind { key == nil ? .native : .browser }

    /// Nil unless the sizes are right.
    public init?(fingerprint: [UInt8], key: [UInt8]? = nil) {
        guard fingerprint.count == 32, key.map({ $0.count == 65 && $0.first == 4 }) ?? true else { return nil }
        self.fingerprint = fingerprint
        self.key = key
    }
}
