import ICETransport
import MediaCore
import SessionDescription

/// The addresses of the other side from which authentic packets have come.
struct ProvenAddresses {
    private var addresses: Set<IPAddress> = []
    /// When the pair was selected whose address was noted last.
    private var notedPair: MediaInstant?

    /// Addresses that are remembered.
    static let limit = 16

    func contains(_ address: IPAddress) -> Bool { addresses.contains(address) }

    /// Authentic packets come from the other end of this pair. Looks at the address once a pair, not once a packet.
    mutating func note(_ agent: ICEAgent) {
        guard notedPair != agent.pairSince else { return }
        notedPair = agent.pairSince
        guard addresses.count < Self.limit, let text = agent.selectedPair?.remoteAddress,
            let address = IPAddress(text)
        else { return }
        addresses.insert(address)
    }
}
