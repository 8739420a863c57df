import Admission
import EventLoop
import HTTP
public import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
public import PeerConnection
import Signaling
import Viewer

/// The broadcasts that a relay gets from others of its cluster: the first viewer has one fetched, by WHEP, and when
/// nobody has watched for a while, it is given back. Safe from any thread.
final class ClusterBroadcasts: BroadcastFinder {
    /// One that is fetched, or about to be.
    private final class Copy: Sendable {
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

    private struct State {
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

    private let member: ClusterMember
    private let own: ClusterNode
    private let settings: BroadcastConfiguration
    private let identity: Identity
    private let resources: @Sendable () -> ViewerSession.SharedResources
    private let make: Make
    private let published: @Sendable (BroadcastID) -> RelayedBroadcast?
    private let emit: @Sendable (ClusterEvent) -> Void
    private let state = Monitor(State())
    private let capacity: Int

    /// How long a request waits until a broadcast has come.
    private static let fetchTime = MediaDuration.seconds(4)
    /// How long a broadcast that nobody watches is kept.
    private static let idleTime = MediaDuration.seconds(30)
    /// How long somebody who knocks may wait for an answer.
    private static let knockTime = MediaDuration.seconds(Int(Knock.answerTime.components.seconds))
    /// How long viewers wait for another source when one has failed.
    private static let failoverTime = MediaDuration.seconds(15)

    /// How long a broadcast that could not be fetched is not tried again.
    private static let failurePause = MediaDuration.seconds(4)
    /// Their number at a time; beyond it the table begins anew.
    private static let failureLimit = 1_024
    /// Between attempts to fetch a broadcast; each is twice as long as the one before.
    private static let pauses = (first: MediaDuration.milliseconds(200), longest: MediaDuration.seconds(4))

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
    private func copy(of id: BroadcastID) -> Copy? {
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

    private func run(_ copy: Copy, _ id: BroadcastID) async {
        let idleness = Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(2))) != nil {
                self?.endIfIdle(copy)
                self?.checkSource(of: copy, id)
            }
        }
        var deadline = MonotonicClock.now + Self.fetchTime
        // They are tried again after all others.
        var failed: Set<String> = []
        var pause = Self.pauses.first
        while !copy.state.with({ $0.isEnded }), MonotonicClock.now < deadline {
            let sources = member.sources(of: id)
            if sources.allSatisfy({ failed.contains($0.node.name) }) { failed = [] }
            guard let (source, broadcast) = sources.first(where: { !failed.contains($0.node.name) }),
                let known = broadcast.parsedLink,
                let link = source.link(of: known)
            else {
                try? await Task.sleep(for: .milliseconds(100))
                continue
            }
            let began = MonotonicClock.now
            let reason = await watch(copy, id, source, link, broadcast)
            let isFetched = copy.state.with { state in
                defer { state.isFetched = false }
                state.hasCome = state.hasCome || state.isFetched || state.isPublished
                return state.isFetched
            }
            if isFetched {
                // Before another source is chosen: two relays that had the same one would take each other.
                withdraw(copy, id)
                emit(.lost(id, from: source.name, reason))
                if !copy.state.with({ $0.isEnded }) { copy.broadcast.setActive(false) }
            }
            // The publisher may have gone on at another relay.
            if reason.code == .hostEnded, !isPublishedElsewhere(id, than: source) { break }
            failed.insert(source.name)
            if isFetched { deadline = MonotonicClock.now + Self.failoverTime }
            // A source that refuses at once is not asked all the time.
            if MonotonicClock.now - began < .seconds(1) {
                try? await Task.sleep(for: .nanoseconds(pause.nanoseconds))
                pause = min(pause + pause, Self.pauses.longest)
            } else {
                pause = Self.pauses.first
            }
        }
        idleness.cancel()
        // Its publisher cannot take it over any more.
        let isClosing = state.with { state in
            copy.state.with { $0.isEnded = true }
            guard state.copies[id] === copy else { return false }
            state.copies[id] = nil
            return true
        }
        if isClosing {
            withdraw(copy, id)
            await withCheckedContinuation { done in copy.broadcast.close { done.resume() } }
        }
        let hasCome = copy.state.with { $0.hasCome }
        state.with { state in
            state.tasks[ObjectIdentifier(copy)] = nil
            guard !hasCome else { return }
            if state.failures.count >= Self.failureLimit { state.failures = [:] }
            state.failures[id] = MonotonicClock.now + Self.failurePause
        }
        emit(.released(id))
    }

    /// Whether this relay may connect to an address because that was announced as another relay's: loopback and link-local
    /// only where this one is there itself, whoever writes on the bus.
    static func permits(_ own: ClusterNode) -> @Sendable (_ address: String) -> Bool {
        let policy = CandidatePolicy(CandidatePolicy.place(of: own.host, own: []))
        return { policy.permits(server: $0, own: []) }
    }

    /// Tells the others that a broadcast cannot be got here any more, unless its publisher sends to this relay.
    private func withdraw(_ copy: Copy, _ id: BroadcastID) {
        let isAnnounced = copy.state.with { state in
            defer { state.isAnnounced = false }
            return state.isAnnounced && !state.isPublished
        }
        if isAnnounced { member.withdraw(id) }
    }

    /// What another relay has of a broadcast has changed.
    func noteChange(of id: BroadcastID) {
        if let copy = state.with({ $0.copies[id] }) { checkSource(of: copy, id) }
    }

    /// Ends the session with a source that does not have the broadcast any more, or gets it from this relay.
    private func checkSource(of copy: Copy, _ id: BroadcastID) {
        let (session, source) = copy.state.with { ($0.isFetched ? $0.session : nil, $0.source) }
        guard let session, let source, member.canFetch(id, from: source.name) == false else { return }
        session.leave(EndReason(.connectionLost, "the relay \(source.name) does not have the broadcast any more"))
    }

    /// Receives a broadcast from another relay, until that fails.
    private func watch(
        _ copy: Copy, _ id: BroadcastID, _ source: ClusterNode, _ link: Link, _ known: ClusterBroadcast
    ) async -> EndReason {
        var resources = resources()
        resources.permits = Self.permits(own)
        let session = ViewerSession(
            link: link, identity: identity, name: "relay \(own.name)",
            sink: SharedSink(copy.broadcast) { !copy.state.with { $0.isEnded } }, resources: resources,
            emit: { [weak self] event in
                switch event {
                case .interrupted:
                    copy.noteInterruption { $0.isInterrupted = true }
                    if let self, !member.knows(source.name) { relayHasGone(source) }
                    return
                case .resumed: return copy.noteInterruption { $0.isInterrupted = false }
                case .publisherInterrupted: return copy.noteInterruption { $0.isPublisherInterrupted = true }
                case .publisherResumed: return copy.noteInterruption { $0.isPublisherInterrupted = false }
                case .broadcastPaused: return copy.broadcast.setPaused(true)
                case .broadcastResumed: return copy.broadcast.setPaused(false)
                default: break
                }
                guard case .connected = event, let self, let link = copy.broadcast.link else { return }
                var broadcast = ClusterBroadcast(
                    link: link, path: known.path + [own.name], name: known.name,
                    publisherDecides: known.publisherDecides, passKey: known.parsedPassKey)
                broadcast.viewers = copy.state.with { $0.viewers }
                let isAnnounced = copy.state.with { state in
                    (state.isFetched, state.isAnnounced) = (true, !state.isPublished)
                    return state.isAnnounced
                }
                if isAnnounced { member.announce(id, broadcast) }
                copy.noteInterruption { $0.isInterrupted = false }
                copy.broadcast.send(alternates: member.links(of: link))
                emit(.fetched(id, from: source.name))
                checkSource(of: copy, id)
            })
        session.onReturn.with { $0 = { copy.broadcast.send(.returnToHost) } }
        let isWanted = copy.state.with { state in
            if !state.isEnded {
                (state.session, state.source) = (session, source)
                (state.isInterrupted, state.isPublisherInterrupted) = (false, false)
            }
            return !state.isEnded
        }
        guard isWanted else { return EndReason(.stopped, "nobody watches") }
        let reason = await session.run()
        copy.state.with { ($0.session, $0.source) = (nil, nil) }
        return reason
    }

    private func isPublishedElsewhere(_ id: BroadcastID, than node: ClusterNode) -> Bool {
        member.sources(of: id).contains { $0.node.name != node.name && $0.broadcast.path.count == 1 }
    }

    private func endIfIdle(_ copy: Copy) {
        let now = MonotonicClock.now
        let limit = state.with { $0.isDraining } ? .seconds(1) : Self.idleTime
        let session = copy.state.with { state -> ViewerSession? in
            guard let idle = state.idleSince, now - idle > limit else { return nil }
            state.isEnded = true
            return state.session
        }
        session?.leave(EndReason(.stopped, "nobody watches"))
    }

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

/// What a relay reports of its cluster.
public enum ClusterEvent: Sendable {
    case joined(ClusterNode)
    case left(ClusterNode)
    case nameIsTaken
    /// A broadcast comes from another relay from now on.
    case fetched(BroadcastID, from: String)
    case lost(BroadcastID, from: String, EndReason)
    /// A broadcast of another relay has gone, or its publisher sends to this relay.
    case released(BroadcastID)
}
