/// STUN and TURN servers that a peer has named. The peer is not trusted: the addresses that its servers turn out to
/// have are subject to the place of the peer (`CandidatePolicy`).
public struct GrantedServers: Sendable, Equatable {
    public var servers: [ICEServer]
    /// The hosts by which the peer was reached, also those that have redirected there; names, or addresses without
    /// port.
    public var hosts: [String]

    public init(_ servers: [ICEServer], by hosts: String...) {
        self.servers = servers
        self.hosts = hosts
    }

    public static let none = GrantedServers([])
}
