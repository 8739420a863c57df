import FoundationEssentials
import HTTP
import SessionDescription

/// The origin that the user has typed, and what its server may send this machine to.
struct WHIPOrigin: Sendable {
    /// All addresses of a name; for an address, the address itself.
    typealias Lookup = @Sendable (_ host: String) async -> [String]

    let url: URL
    let lookup: Lookup

    /// Scheme, host and port are those that the user has typed: the token is for them alone.
    func has(_ other: URL) -> Bool { Self.text(url) == Self.text(other) }

    /// An address of a place that the endpoint has named, to be connected to; nil: the place may not be used.
    ///
    /// An endpoint with a public address names no other: what listens in this machine's networks is not its business.
    func address(of other: URL) async -> String? {
        guard let host = other.plainHost, let own = url.plainHost else { return nil }
        let found = await lookup(host).compactMap { text in IPAddress(text).map { (text, $0) } }
        let isPublic = await lookup(own).contains { IPAddress($0).map(Self.isPublic) ?? false }
        return found.first { !isPublic || Self.isPublic($0.1) }?.0
    }

    private static func text(_ url: URL) -> String {
        let scheme = url.scheme?.lowercased() ?? ""
        return "\(scheme)://\(url.plainHost?.lowercased() ?? ""):\(url.port ?? (scheme == "https" ? 443 : 80))"
    }

    /// Not loopback, link-local, private (RFC 1918, RFC 4193) or shared (RFC 6598), and no address of one of those in
    /// another form.
    static func isPublic(_ address: IPAddress) -> Bool {
        guard address.isUnicast, !address.isOfLocalNetwork, !address.isInstanceMetadata else { return false }
        if case .v6(let bytes) = address, bytes[0] == 0xFE && bytes[1] & 0xC0 == 0xC0 { return false }
        return address.embeddedIPv4.allSatisfy(isPublic)
    }
}
