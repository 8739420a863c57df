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

/// The session with the relay that has a broadcast.
extension ClusterBroadcasts {
    func run(_ copy: Copy, _ id: BroadcastID) async {
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
        resources.onReturn = { copy.broadcast.send(.returnToHost) }
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
}
