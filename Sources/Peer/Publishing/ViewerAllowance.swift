import Admission
import EventLoop
import MediaCore
import MediaEngine
import Transport

/// What somebody who was let in may make this host do to others: ask its TURN servers for relays, send connectivity
/// checks to addresses that have proved nothing yet, and make key frames, which other viewers pay for. Confined to the
/// network loop.
final class ViewerAllowance: TransportAllowance {
    struct Limits: Sendable {
        /// Of a `TokenBucket`.
        struct Limit: Sendable {
            var burst: Double
            var perSecond: Double

            func bucket(now: MediaInstant) -> TokenBucket { TokenBucket(burst: burst, rate: perSecond, now: now) }
        }

        /// ICE agents: sessions and restarts. Each asks every TURN server once from every address.
        var agents: Limit
        /// Candidates at addresses from which nothing authentic has come.
        var candidates: Limit

        /// Of one viewer: an outage of 30 s, with a restart each 3 s, and eight candidates in each.
        static let viewer = Limits(
            agents: .init(burst: 12, perSecond: 1.0 / 3), candidates: .init(burst: 60, perSecond: 1))
        /// Of one address, behind which there may be many viewers, or many certificates of one.
        static let address = Limits(
            agents: .init(burst: 64, perSecond: 4), candidates: .init(burst: 320, perSecond: 5))
    }

    private var agents: TokenBucket
    private var candidates: TokenBucket
    /// Of all its sessions: a viewer that joins again does not begin with nothing owed.
    var keyframes = KeyframeRequestLimiter()
    private let parent: ViewerAllowance?

    /// - Parameter parent: has to allow it as well.
    init(_ limits: Limits, parent: ViewerAllowance? = nil, now: MediaInstant) {
        agents = limits.agents.bucket(now: now)
        candidates = limits.candidates.bucket(now: now)
        self.parent = parent
    }

    /// Counts an agent if it may be made now.
    func takeAgent(now: MediaInstant) -> Bool { take(\.agents, now) }

    /// Counts a candidate if it may be tried now.
    func takeCandidate(now: MediaInstant) -> Bool { take(\.candidates, now) }

    private func take(_ kind: ReferenceWritableKeyPath<ViewerAllowance, TokenBucket>, _ now: MediaInstant) -> Bool {
        self[keyPath: kind].refill(now)
        guard self[keyPath: kind].has(), parent?.take(kind, now) ?? true else { return false }
        self[keyPath: kind].take()
        return true
    }

    func isFull(now: MediaInstant) -> Bool {
        agents.refill(now)
        candidates.refill(now)
        return agents.isFull() && candidates.isFull() && keyframes.owesNothing(now: now)
    }
}

/// The allowances of all who came lately: a session that ends and is opened again gets what is left of the former
/// one's. Confined to the network loop; constant memory.
final class ViewerAllowances {
    private enum Key: Hashable {
        /// Proven by the knock.
        case identity(ViewerIdentity)
        /// Of a player with the fixed token, which says what it likes.
        case certificate([UInt8])
        case address(String)
    }

    static let capacity = 2_048
    private var allowances: [Key: ViewerAllowance] = [:]
    /// Shared by those for whom there is no room.
    private let overflow: ViewerAllowance

    var count: Int { allowances.count }

    init(now: MediaInstant) { overflow = ViewerAllowance(.address, now: now) }

    func allowance(for viewer: Viewer, now: MediaInstant) -> ViewerAllowance {
        let address = find(.address(viewer.address), now) { ViewerAllowance(.address, now: now) }
        let key = viewer.identity.map { Key.identity($0) } ?? .certificate(viewer.fingerprint)
        return find(key, now) {
            ViewerAllowance(.viewer, parent: address, now: now)
        }
    }

    private func find(
        _ key: Key, _ now: MediaInstant, _ make: () -> ViewerAllowance
    ) -> ViewerAllowance {
        if let known = allowances[key] { return known }
        if allowances.count >= Self.capacity { allowances = allowances.filter { !$0.value.isFull(now: now) } }
        guard allowances.count < Self.capacity else { return overflow }
        let made = make()
        allowances[key] = made
        return made
    }
}
