/// The identity of a viewer that knocks, as far as its signature proves it.
///
/// Two identities belong to the same viewer only if both members are equal. A browser's `fingerprint` is a claim that
/// only the DTLS handshake proves. So nothing may be granted, counted or closed by the fingerprint alone.
public struct ViewerIdentity: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// `share join`: the certificate's own key signs knocks.
        case native
        /// A web page: a WebCrypto key beside the certificate signs knocks. The browser stores it for the page's
        /// origin, which is the host's address and port.
        case browser
    }

    /// SHA-256 of the viewer's DTLS certificate, 32 bytes.
    public let fingerprint: [UInt8]
    /// The browser's P-256 key, uncompressed (65 bytes); nil for a native viewer.
    public let key: [UInt8]?

    public var kind: Kind { key == nil ? .native : .browser }

    /// Returns nil if a size is wrong.
    public init?(fingerprint: [UInt8], key: [UInt8]? = nil) {
        guard fingerprint.count == 32, key.map({ $0.count == 65 && $0.first == 4 }) ?? true else { return nil }
        self.fingerprint = fingerprint
        self.key = key
    }
}
