import Admission
import EventLoop
import Identifiers
import Identity
package import MediaCore
import MediaEngine
import PeerConnection

/// Limits what an admitted viewer, or a publisher that a service has admitted, can make this side do to others: ask its
/// TURN servers for relays, send connectivity checks to unproven addresses, and make key frames, which cost other
/// viewers bandwidth. Confined to the network loop.
package final class ViewerAllowance: TransportAllowance {
    package struct Limits: Sendable {
        /// The parameters of a `TokenBucket`.
        struct Limit: Sendable {
            var burst: Double
            var perSecond: Double

            func bucket(now: MediaInstant) -> TokenBucket { TokenBucket(burst: burst, rate: perSecond, now: now) }
        }

        /// ICE agents: sessions and restarts. Each agent asks every TURN server once from every address.
        var agents: Limit
        /// Candidates at addresses from which nothing authentic has come.
        var candidates: Limit

        /// The limits of one viewer: an outage of 30 s, with a restart each 3 s and eight candidates in each.
        package static let viewer = Limits(
            agents: .init(burst: 12, perSecond: 1.0 / 3), candidates: .init(burst: 60, perSecond: 1))
        /// The limits of one address, which may have many viewers, or one viewer with many certificates.
        static let address = network(shares: 1)

        /// - Parameter shares: how many addresses a network counts as.
        static func network(shares: Int) -> Limits {
            let shares = Double(shares)
            return Limits(
                agents: .init(burst: 64 * shares, perSecond: 4 * shares),
                candidates: .init(burst: 320 * shares, perSecond: 5 * shares))
        }
    }

    private var agents: TokenBucket
    private var candidates: TokenBucket
    private let parent: ViewerAllowance?
    /// Of the networks around an address. They count while the table is more than half full.
    private let networks: [ViewerAllowance]
    private let countsNetworks: () -> Bool
    /// Shared by all sessions of the viewer, so that joining again does not reset it.
    var keyframes = KeyframeRequestLimiter()

    /// - Parameters:
    ///   - parent: an allowance that has to permit it, too.
    ///   - networks: those that have to permit it while `countsNetworks` returns true.
    package init(
        _ limits: Limits, parent: ViewerAllowance? = nil, networks: [ViewerAllowance] = [],
        countsNetworks: @escaping () -> Bool = { false }, now: MediaInstant
    ) {
        agents = limits.agents.bucket(now: now)
        candidates = limits.candidates.bucket(now: now)
        self.parent = parent
        self.networks = networks
        self.countsNetworks = countsNetworks
    }

    /// Counts an agent if the limits permit one now.
    package func takeAgent(now: MediaInstant) -> Bool { take(\.agents, now) }

    /// Counts a candidate if the limits permit one now.
    package func takeCandidate(now: MediaInstant) -> Bool { take(\.candidates, now) }

    private func take(_ kind: ReferenceWritableKeyPath<ViewerAllowance, TokenBucket>, _ now: MediaInstant) -> Bool {
        guard has(kind, now), parent?.has(kind, now) ?? true else { return false }
        let counts = countsNetworks()
        for network in networks where !network.has(kind, now) && counts { return false }
        guard parent?.take(kind, now) ?? true else { return false }
        self[keyPath: kind].take()
        for network in networks where network[keyPath: kind].has() { network[keyPath: kind].take() }
        return true
    }

    private func has(_ kind: ReferenceWritableKeyPath<ViewerAllowance, TokenBucket>, _ now: MediaInstant) -> Bool {
        self[keyPath: kind].refill(now)
        return self[keyPath: kind].has()
    }

    func isFull(now: MediaInstant) -> Bool {
        agents.refill(now)
        candidates.refill(now)
        return agents.isFull() && candidates.isFull() && keyframes.isBucketEmpty(now: now)
    }
}

/// The allowances of recent viewers. A session that is opened again gets what is left of its previous allowance.
/// Confined to the network loop; constant memory.
final class ViewerAllowances {
    private enum Key: Hashable {
        /// The identity that the knock proved.
        case identity(ViewerIdentity)
        /// The certificate of a player with the fixed token, which proves no identity.
        case certificate([UInt8])
        /// IPv6: a /64. Of the networks around it as well.
        case address(AddressKey)
    }

    private let capacity: Int
    private var allowances: [Key: ViewerAllowance] = [:]
    /// Shared by all viewers for whom the table has no room.
    private let overflow: ViewerAllowance

    var count: Int { allowances.count }

    /// - Parameter viewers: at a time. Four times as many are remembered, and 2,048 at least.
    init(viewers: Int, now: MediaInstant) {
        capacity = max(2_048, viewers * 4)
        overflow = ViewerAllowance(.address, now: now)
    }

    func allowance(for viewer: Viewer, now: MediaInstant) -> ViewerAllowance {
        let key = PeerAddress(viewer.address).key
        let networks = key.networks.map { network in
            find(.address(network), now) { ViewerAllowance(.network(shares: network.shares), now: now) }
        }
        let address = find(.address(key), now) {
            ViewerAllowance(
                .address, networks: networks,
                countsNetworks: { [weak self] in self.map { $0.count > $0.capacity / 2 } ?? false }, now: now)
        }
        let owner = viewer.identity.map { Key.identity($0) } ?? .certificate(viewer.fingerprint)
        return find(owner, now) {
            ViewerAllowance(.viewer, parent: address, now: now)
        }
    }

    private func find(
        _ key: Key, _ now: MediaInstant, _ make: () -> ViewerAllowance
    ) -> ViewerAllowance {
        if let known = allowances[key] { return known }
        if allowances.count >= capacity { allowances = allowances.filter { !$0.value.isFull(now: now) } }
        guard allowances.count < capacity else { return overflow }
        let made = make()
        allowances[key] = made
        return made
    }
}
