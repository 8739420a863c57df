package import Identifiers

/// The further links of a broadcast, as a server tells its viewers. The server signs with the key of its
/// certificate (ECDSA P-256 with SHA-256)
///
///     "share v1 alternates" | ID (13 characters) | H (32 bytes) | the links, separated by blanks
///
/// H is the fingerprint of the server's certificate. So a host whose events a relay forwards can name none.
public struct SignedAlternates: Codable, Sendable, Equatable {
    public var links: [String]
    /// The server's certificate: base64url of DER.
    public var certificate: String
    /// base64url of 64 bytes, r | s.
    public var signature: String
    /// The ``MoveMark`` of one viewer, which the page shows to the server that it goes to.
    public var mark: String?

    /// The most that a server can name.
    package static let limit = 8
    /// Characters of a link.
    private static let lengthLimit = 512

    package init(_ links: [String], of broadcast: BroadcastID, signedBy server: Identity) {
        self.links = links
        certificate = Base64URL.encode(server.certificateDER)
        signature = Base64URL.encode(
            server.signature(over: Self.signedBytes(links, broadcast, server.fingerprint)))
    }

    /// Returns the links to the same broadcast; none if the server of `known` has not signed them.
    /// - Parameter known: the link that the viewer has.
    package func links(of known: Link) -> [Link] {
        guard known.relay == nil, links.count <= Self.limit,
            links.allSatisfy({ $0.utf8.count <= Self.lengthLimit && !$0.contains(" ") }),
            let certificate = Base64URL.decode(certificate), let signature = Base64URL.decode(signature),
            CertificateSignature.isValid(
                signature, over: Self.signedBytes(links, known.id, known.fingerprint), certificate: certificate,
                fingerprint: known.fingerprint)
        else { return [] }
        return links.compactMap { try? Link(parsing: $0) }
            .filter { $0.id == known.id && $0.secret == known.secret && $0.relay == nil }
    }

    private static func signedBytes(_ links: [String], _ id: BroadcastID, _ server: [UInt8]) -> [UInt8] {
        Array("share v1 alternates".utf8) + Array(id.text.utf8) + server + Array(links.joined(separator: " ").utf8)
    }
}
