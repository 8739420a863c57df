package import Identifiers

/// A server that a link names: its place, and what proves that it is the one.
package struct PinnedServer: Sendable {
    /// The word for the server in messages.
    package enum Role: Sendable {
        case host, service
    }

    /// A name or an address; IPv6 without brackets.
    let host: String
    let port: Int
    /// `HOST:PORT` with IPv6 in brackets.
    let authority: String
    /// SHA-256 of its certificate, 32 bytes. With the flag `webPKI` TLS has another certificate.
    let fingerprint: [UInt8]
    /// SHA-256 of the certificate of the peer that sends or takes the media: the server's own, or that of a host or a
    /// service which is reached over the server.
    let peerFingerprint: [UInt8]
    let flags: LinkFlags
    let role: Role

    package init(_ link: Link) {
        host = link.host
        port = link.port
        authority = link.authority
        fingerprint = link.relay ?? link.fingerprint
        peerFingerprint = link.fingerprint
        flags = link.flags
        role = .host
    }

    package init(_ link: ServiceLink) {
        host = link.host
        port = link.port
        authority = link.authority
        fingerprint = link.relay ?? link.fingerprint
        peerFingerprint = link.fingerprint
        flags = link.flags
        role = .service
    }
}
