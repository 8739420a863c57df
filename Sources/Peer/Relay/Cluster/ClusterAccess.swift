import Host
import Identifiers
import LinuxRuntime
import Signaling
import Synchronization

/// How a relay is one of several.
public struct ClusterSettings: Sendable {
    /// The name of this relay, which no other one has (``ClusterNode/isName(_:)``).
    public var node: String
    public var bus: any MessageBus

    public init(node: String, bus: any MessageBus) {
        self.node = node
        self.bus = bus
    }
}

/// The cluster of a relay, for those parts that exist before the relay has joined it. Safe from any thread.
final class ClusterAccess: BroadcastFinder {
    private let joined = Mutex<(member: ClusterMember, broadcasts: ClusterBroadcasts)?>(nil)

    /// Nil before the relay has joined, and after it has left.
    var member: ClusterMember? { joined.withLock { $0?.member } }
    var broadcasts: ClusterBroadcasts? { joined.withLock { $0?.broadcasts } }

    func begin(_ member: ClusterMember, _ broadcasts: ClusterBroadcasts) {
        joined.withLock { $0 = (member, broadcasts) }
    }

    func end() { joined.withLock { $0 = nil } }

    func knows(_ id: BroadcastID) -> Bool { broadcasts?.knows(id) ?? false }

    func secret(of id: BroadcastID) -> [UInt8]? { broadcasts?.secret(of: id) }

    func passKey(of id: BroadcastID) -> [UInt8]? { broadcasts?.passKey(of: id) }

    func fetch(_ id: BroadcastID) async -> Bool { await broadcasts?.fetch(id) ?? false }

    /// Tells the others of a broadcast that is published to this relay.
    func announce(_ broadcast: RelayedBroadcast, of publisher: Publisher) {
        guard let member, let link = broadcast.link else { return }
        var announced = ClusterBroadcast(
            link: link, path: [member.name], name: broadcast.displayName,
            publisherDecides: publisher.decidesOnViewers, passKey: broadcast.passKey)
        announced.publisher = publisher.pairing == nil ? nil : Base64URL.encode(publisher.fingerprint)
        member.announce(link.id, announced)
    }

    /// The viewers of a broadcast at all relays.
    /// - Parameter local: those of this relay, other relays among them.
    func audience(_ local: Int, of id: BroadcastID) -> Int {
        guard let member else { return local }
        return max(0, local - member.copies(of: id)) + member.viewers(of: id)
    }

    /// Tells the others how many watch a broadcast that is published to this relay.
    /// - Parameter viewers: at all relays.
    func note(viewers: Int, of id: BroadcastID) {
        guard let member else { return }
        let others = member.viewers(of: id)
        member.update(id) { broadcast in
            broadcast.viewers = max(0, viewers - others)
            broadcast.listing?.viewers = viewers
        }
    }
}
