import ICETransport
import SessionDescription

/// Says which addresses a STUN or TURN server may have, by who has named it.
struct ServerAddressRule: Sendable {
    private let policies: [CandidatePolicy]
    private let own: [String]

    /// - Parameter hosts: of the peer that has named the server; nil: this machine's user has.
    init(namedBy hosts: [String]?) {
        own = hosts == nil ? [] : ICEAgent.localInterfaceAddresses()
        policies = (hosts ?? []).map { [own] in CandidatePolicy(CandidatePolicy.place(of: $0, own: own)) }
    }

    /// Whether the peer is elsewhere. It learns from this machine what it cannot find out itself.
    var isForeign: Bool { policies.contains { !$0.allowsLoopback } }

    func permits(_ address: String) -> Bool { policies.allSatisfy { $0.permits(server: address, own: own) } }
}
