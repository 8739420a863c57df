/// A host's order to one of its viewers to watch at another server, where the host publishes the same broadcast. The host
/// signs with the key of its certificate (ECDSA P-256 with SHA-256)
///
///     "share v1 redirect" | ID (13 characters) | H (32 bytes) | V (32) | link
///
/// H and V are the fingerprints of the host and the viewer, and ID is the broadcast that the viewer knows. A server
/// between host and viewer can neither make such an order nor give it to another viewer.
public struct SignedRedirect: Codable, Sendable, Equatable {
    /// The link at the other server.
    public var link: String
    /// The host's certificate: base64url of DER.
    public var certificate: String
    /// base64url of 64 bytes, r | s.
    public var signature: String

    /// The most characters that a link may have.
    private static let lengthLimit = 512

    /// - Parameters:
    ///   - broadcast: the one that the viewer knows.
    ///   - viewer: the fingerprint of the viewer's certificate.
    package init(
        to link: Link, of broadcast: BroadcastID, viewer: [UInt8], signedBy host: Identity
    ) throws(IdentityError) {
        self.link = link.text
        certificate = Base64URL.encode(host.certificateDER)
        signature = Base64URL.encode(
            try host.signature(
                over: Self.signedBytes(link.text, broadcast, host: host.fingerprint, viewer: viewer)))
    }

    /// Returns where the viewer is to watch; nil if the host of `known` has not signed that for this viewer.
    /// - Parameters:
    ///   - known: the link that the viewer has.
    ///   - viewer: the fingerprint of the viewer's certificate.
    package func destination(from known: Link, viewer: [UInt8]) -> Link? {
        guard link.utf8.count <= Self.lengthLimit, let certificate = Base64URL.decode(certificate),
            let signature = Base64URL.decode(signature),
            CertificateSignature.isValid(
                signature, over: Self.signedBytes(link, known.id, host: known.fingerprint, viewer: viewer),
                certificate: certificate, fingerprint: known.fingerprint)
        else { return nil }
        return try? Link(parsing: link)
    }

    private static func signedBytes(_ link: String, _ id: BroadcastID, host: [UInt8], viewer: [UInt8]) -> [UInt8] {
        Array("share v1 redirect".utf8) + Array(id.text.utf8) + host + viewer + Array(link.utf8)
    }
}
