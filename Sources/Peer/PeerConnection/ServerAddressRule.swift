import ICETransport
import SessionDescription

/// Says which addresses a STUN or TURN server, or a server to go on at, may have, by who has named it.
package struct ServerAddressRule: Sendable {
    private let policies: [CandidatePolicy]
    /// This machine's addresses.
    private let own: [String]

    /// - Parameter hosts: of the peer that has named the server; nil: this machine's user has.
    init(namedBy hosts: [String]?) {
        own = hosts == nil ? [] : ICEAgent.localInterfaceAddresses()
        policies = (hosts ?? []).map { [own] in CandidatePolicy(CandidatePolicy.place(of: $0, own: own)) }
    }

    /// - Parameter places: of the peers that have named the server, one after the other.
    package init(namedAt places: Set<CandidatePolicy.Place>) {
        own = ICEAgent.localInterfaceAddresses()
        policies = places.map { CandidatePolicy($0) }
    }

    /// Whether the peer is elsewhere. It learns from this machine what it cannot find out itself.
    var isForeign: Bool { policies.contains { !$0.allowsLoopback } }

    package func permits(_ address: String) -> Bool { policies.allSatisfy { $0.permits(server: address, own: own) } }
}
