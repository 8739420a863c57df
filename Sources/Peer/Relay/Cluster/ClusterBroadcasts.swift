import Admission
import EventLoop
import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import Signaling
import Viewer

/// The broadcasts that a relay gets from others of its cluster: the first viewer has one fetched, by WHEP, and when
/// nobody has watched for a while, it is given back. Safe from any thread.
final class ClusterBroadcasts: BroadcastFinder {
    /// One that is fetched, or about to be.
    final class Copy: Sendable {
        let broadcast: RelayedBroadcast
        let state = Monitor(State())

        struct State {
            /// The session with the relay that has it.
            var session: ViewerSession?
            var source: ClusterNode?
            /// Until the first viewer, and after the last one.
            var idleSince: MediaInstant? = MonotonicClock.now
            var viewers = 0
            var isFetched = false
            /// It was fetched, or its publisher has taken it over.
            var hasCome = false
            /// No packets come from the source.
            var isInterrupted = false
            /// No packets come to the source.
            var isPublisherInterrupted = false
            /// The others know that it can be got here.
            var isAnnounced = false
            var isEnded = false
            /// Its publisher sends to this relay from now on.
            var isPublished = false
        }

        init(_ broadcast: RelayedBroadcast) { self.broadcast = broadcast }

        /// Changes what is interrupted, and tells the viewers.
        func noteInterruption(_ change: (inout State) -> Void) {
            let isActive = state.with { state in
                change(&state)
                return !state.isInterrupted && !state.isPublisherInterrupted
            }
            broadcast.setActive(isActive)
        }
    }

    struct State {
        var copies: [BroadcastID: Copy] = [:]
        /// Also of those that are being closed.
        var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
        var isStopped = false
        /// The broadcasts that could not be fetched, and until when they are not tried again.
        var failures: [BroadcastID: MediaInstant] = [:]
        /// What nobody watches is given back at once.
        var isDraining = false
    }

    typealias Make = @Sendable (BroadcastConfiguration, _ name: String?) -> RelayedBroadcast

    let member: ClusterMember
    let own: ClusterNode
    let settings: BroadcastConfiguration
    let identity: Identity
    let resources: @Sendable () -> ViewerSession.SharedResources
    let make: Make
    let published: @Sendable (BroadcastID) -> RelayedBroadcast?
    let emit: @Sendable (ClusterEvent) -> Void
    let state = Monitor(State())
    let capacity: Int

    /// How long a request waits until a broadcast has come.
    static let fetchTime = MediaDuration.seconds(4)
    /// How long a broadcast that nobody watches is kept.
    static let idleTime = MediaDuration.seconds(30)
    /// How long somebody who knocks may wait for an answer.
    static let knockTime = MediaDuration.seconds(Int(Knock.answerTime.components.seconds))
    /// How long viewers wait for another source when one has failed.
    static let failoverTime = MediaDuration.seconds(15)

    /// How long a broadcast that could not be fetched is not tried again.
    static let failurePause = MediaDuration.seconds(4)
    /// Their number at a time; beyond it the table begins anew.
    static let failureLimit = 1_024
    /// Between attempts to fetch a broadcast; each is twice as long as the one before.
    static let pauses = (first: MediaDuration.milliseconds(200), longest: MediaDuration.seconds(4))

    /// - Parameter published: one that is published to this relay, or about to be.
    init(
        _ member: ClusterMember, own: ClusterNode, settings: BroadcastConfiguration, identity: Identity, capacity: Int,
        resources: @escaping @Sendable () -> ViewerSession.SharedResources, make: @escaping Make,
        published: @escaping @Sendable (BroadcastID) -> RelayedBroadcast?,
        emit: @escaping @Sendable (ClusterEvent) -> Void
    ) {
        self.member = member
        self.own = own
        self.settings = settings
        self.identity = identity
        self.capacity = capacity
        self.resources = resources
        self.make = make
        self.published = published
        self.emit = emit
    }

    // MARK: Finding

    func knows(_ id: BroadcastID) -> Bool { !member.sources(of: id).isEmpty || state.with { $0.copies[id] != nil } }

    func secret(of id: BroadcastID) -> [UInt8]? {
        state.with { $0.copies[id] }?.broadcast.secret ?? member.sources(of: id).first?.broadcast.parsedLink?.secret
    }

    func passKey(of id: BroadcastID) -> [UInt8]? {
        state.with { $0.copies[id] }?.broadcast.passKey ?? member.sources(of: id).first?.broadcast.parsedPassKey
    }

    /// A broadcast is fetched once, and given back after `idleTime`.
    func fetch(_ id: BroadcastID) async -> Bool {
        let own = published(id)
        let now = MonotonicClock.now
        guard own != nil || !(state.with { $0.failures[id].map { now < $0 } ?? false }) else { return false }
        let copy = own == nil ? copy(of: id) : nil
        guard let broadcast = own ?? copy?.broadcast else { return false }
        let deadline = MonotonicClock.now + Self.fetchTime
        while MonotonicClock.now < deadline {
            if broadcast.link != nil { return true }
            // Its publisher may be about to send it here.
            if let copy, copy.state.with({ $0.isEnded && !$0.isPublished }) { return false }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    /// Begins to fetch a broadcast, unless that has begun.
    func copy(of id: BroadcastID) -> Copy? {
        if let known = state.with({ $0.copies[id] }) { return known }
        guard let source = member.sources(of: id).first?.broadcast, let link = source.parsedLink else { return nil }
        var configuration = settings
        (configuration.id, configuration.secret) = (id, link.secret)
        configuration.passKey = source.parsedPassKey
        let new = Copy(make(configuration, source.name.isEmpty ? nil : source.name))
        return state.with { state in
            if let known = state.copies[id] { return known }
            guard !state.isStopped, !state.isDraining, state.copies.count < capacity else { return nil }
            state.copies[id] = new
            state.tasks[ObjectIdentifier(new)] = Task { [weak self] in await self?.run(new, id) }
            return new
        }
    }

    /// Somebody knocks at a broadcast, and may wait for an answer so long.
    func noteKnock(of id: BroadcastID) {
        state.with { $0.copies[id] }?.state.with { state in
            guard state.viewers == 0 else { return }
            state.idleSince = MonotonicClock.now + Self.knockTime
        }
    }

    /// - Parameter viewers: at this relay, other relays among them.
    func note(viewers: Int, of id: BroadcastID) {
        state.with { $0.copies[id] }?.state.with { state in
            state.viewers = viewers
            state.idleSince = viewers == 0 ? MonotonicClock.now : nil
        }
        let others = member.copies(of: id)
        member.update(id) { $0.viewers = max(0, viewers - others) }
    }

    /// Tells the relay that a broadcast is fetched from what the slowest viewer here can get; nil: as much as the others.
    func report(slowest: Bitrate?, of id: BroadcastID) {
        guard let source = state.with({ $0.copies[id] })?.state.with({ $0.source }) else { return }
        member.report(slowest: slowest, of: id, to: source.name)
    }

    /// One that is fetched, or about to be.
    func copied(_ id: BroadcastID) -> RelayedBroadcast? { state.with { $0.copies[id] }?.broadcast }

    // MARK: The session with the source

    /// Gives a broadcast to its publisher, who goes on at this relay. Its viewers stay, and those who wait for it get it
    /// from the publisher.
    /// - Returns: also how many watch it here; nil if this relay does not have it, and has not begun to fetch it.
    func publish(_ id: BroadcastID) -> (RelayedBroadcast, viewers: Int)? {
        let copy = state.with { state in
            let copy = state.copies.removeValue(forKey: id)
            copy?.state.with { ($0.isEnded, $0.isPublished) = (true, true) }
            return copy
        }
        guard let copy else { return nil }
        let session = copy.state.with { $0.session }
        session?.leave(EndReason(.stopped, "the publisher sends to this relay"))
        return (copy.broadcast, copy.state.with { $0.viewers })
    }

    /// The broadcasts that can be watched.
    var live: [RelayedBroadcast] { state.with { $0.copies.values.map(\.broadcast) }.filter { $0.link != nil } }

    /// Ends the sessions with a relay that is not heard any more, so that another one is asked. A session whose media comes
    /// goes on, and each one while no relay is heard: the connection to NATS may be what is broken.
    func relayHasGone(_ node: ClusterNode) {
        guard member.relayCount > 0 else { return }
        for copy in state.with({ Array($0.copies.values) }) {
            let session = copy.state.with { state in
                state.source?.name == node.name && (state.isInterrupted || !state.isFetched) ? state.session : nil
            }
            session?.leave(EndReason(.connectionLost, "the relay \(node.name) is not heard any more"))
        }
    }

    // MARK: The end

    func drain() { state.with { $0.isDraining = true } }

    var isIdle: Bool { state.with { $0.copies.isEmpty } }

    /// The broadcasts, and what has come of each.
    func statistics() async -> [(RelayedBroadcast, ViewerStatistics?)] {
        var result: [(RelayedBroadcast, ViewerStatistics?)] = []
        for (_, copy) in state.with({ $0.copies }).sorted(by: { $0.key.text < $1.key.text }) {
            result.append((copy.broadcast, await copy.state.with { $0.session }?.statistics()))
        }
        return result
    }

    func stop() async {
        let (copies, tasks) = state.with { state in
            state.isStopped = true
            return (Array(state.copies.values), Array(state.tasks.values))
        }
        for copy in copies {
            let session = copy.state.with { state -> ViewerSession? in
                state.isEnded = true
                return state.session
            }
            session?.leave(EndReason(.stopped, "the relay has stopped"))
        }
        for task in tasks { await task.value }
    }
}
