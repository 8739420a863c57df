import ICETransport
import MediaCore
import SessionDescription

/// The remote addresses from which authentic packets have come.
struct ProvenAddresses {
    private var addresses: Set<IPAddress> = []
    /// The selection time of the pair whose address was noted last.
    private var notedPair: MediaInstant?

    /// The number of addresses that are remembered.
    static let limit = 16

    func contains(_ address: IPAddress) -> Bool { addresses.contains(address) }

    /// Notes that authentic packets come from the remote end of the agent's pair. Looks at the address once a pair, not
    /// once a packet.
    mutating func note(_ agent: ICEAgent) {
        guard notedPair != agent.pairSince else { return }
        notedPair = agent.pairSince
        guard addresses.count < Self.limit, let text = agent.selectedPair?.remoteAddress,
            let address = IPAddress(text)
        else { return }
        addresses.insert(address)
    }
}
