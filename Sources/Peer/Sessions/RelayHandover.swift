import Admission
import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import Publishing
import Signaling
import Transport

/// Serves the first viewers of a met broadcast directly. When there are more, publishes it to the relay, once, and sends
/// all viewers there (`--route auto`). It stays at the relay until that fails, or few viewers are left (``HandoverPolicy``).
/// Without that, a viewer that no media reaches is sent there alone. Safe from any thread.
///
/// Passes the reports of the broadcast to the signalling of its own viewers, and to the publication.
final class RelayHandover: BroadcastDelegate, Sendable {
    private struct State {
        var publication: ServicePublication?
        /// Where it publishes: the relay of the meeting, or another one of its cluster.
        var place: ServiceLink?
        /// Where the viewers are sent; nil while the relay has not told it, and while nothing is published.
        var link: Link?
        /// No publication is attempted before.
        var retry: ContinuousClock.Instant?
        /// Publications in a row that no viewer could use, and why the last one failed.
        var failures = 0
        var failure = ""
        var policy: HandoverPolicy
        var bottleneck = SharedBottleneckDetector()
        /// How many the host serves itself.
        var direct = 0
        /// How many watch at the relay.
        var elsewhere = 0
        /// The publication ends because few viewers are left.
        var isReturning = false
        var hasEnded = false
    }

    private let core: LoopBound<Broadcast>
    /// Where viewers meet this host.
    private let relay: PairedService
    private let signer: RedirectSigner
    private let signaling: BroadcastSignaling
    private let emit: @Sendable (BroadcastEvent) -> Void
    /// Passes on how many watch at the relay, not as often as the relay may tell.
    private let audience: Throttle<ViewersElsewhere>
    /// Sends the viewers to another link, not as often as the relay may name one.
    private let links = Monitor<Throttle<Link>?>(nil)
    private let state: Monitor<State>
    private let viewerFlows: @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow]

    /// After a publication that failed; twice as long after each other one, up to 160 s.
    private static let retryInterval = Duration.seconds(10)
    private static let doublingLimit = 4
    /// How long viewers may take to come back before the publication ends.
    private static let returnTime = Duration.seconds(12)
    /// After that, a session that is not connected counts as unreachable.
    private static let connectTime = Duration.seconds(4)
    /// Between two links to which viewers are sent.
    private static let linkInterval = MediaDuration.seconds(5)
    /// Between two reports of how many watch at the relay.
    private static let audienceInterval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - emit: called with the events of the publication.
    ///   - noteViewersElsewhere: called with the number of viewers at the relay.
    ///   - viewerFlows: by which it decides whether the host's line is the limit, on the network loop.
    ///   - calmTime: how long few viewers have to be few until the host serves them itself again.
    init(
        _ core: LoopBound<Broadcast>, of broadcast: BroadcastID, to relay: PairedService, identity: Identity,
        limit: Int, calmTime: MediaDuration,
        viewerFlows: @escaping @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow],
        signaling: BroadcastSignaling,
        emit: @escaping @Sendable (BroadcastEvent) -> Void,
        noteViewersElsewhere: @escaping @Sendable (ViewersElsewhere) -> Void
    ) {
        audience = Throttle(noteViewersElsewhere)
        state = Monitor(State(policy: HandoverPolicy(limit: limit, calmTime: calmTime)))
        self.core = core
        self.viewerFlows = viewerFlows
        signer = RedirectSigner(of: broadcast, identity: identity)
        var relay = relay
        // It is asked about viewers, and the meeting is what is listed.
        (relay.decidesOnViewers, relay.title) = (true, nil)
        self.relay = relay
        self.signaling = signaling
        self.emit = emit
    }

    func start() {
        links.with { $0 = Throttle { [weak self] link in Task { await self?.send(to: link) } } }
        signaling.onOpen.with { $0 = { [weak self] in self?.opened($0, $1) } }
        signaling.onStream.with { $0 = { [weak self] sessions in Task { await self?.repeatOrders(to: sessions) } } }
        signaling.redirect { [weak self] viewer in
            guard let self, let link = commonLink else { return nil }
            return redirect(of: viewer, to: link)
        }
        core.perform { [weak self] in $0.delegate = self }
        Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard let self, !state.with({ $0.hasEnded }) else { return }
                await checkLine()
            }
        }
    }

    /// Ends the publication. May be called more than once.
    func stop(_ reason: EndReason) async {
        let publication = state.with { state in
            state.hasEnded = true
            return state.publication
        }
        await publication?.close(reason)
    }

    // MARK: The publication

    /// Where all viewers are sent; nil: the host serves them.
    private var commonLink: Link? { state.with { $0.policy.movesAll ? $0.link : nil } }

    /// There is one more viewer.
    /// - Parameter viewers: those that are served directly.
    private func joined(viewers: Int) {
        let isNew = state.with { state in
            state.direct = viewers
            return state.policy.joined(viewers: viewers, now: MonotonicClock.now)
        }
        if isNew { moveAll() }
    }

    private func moveAll() {
        publish()
        if let link = state.with({ $0.link }) { Task { await redirectAll(to: link) } }
    }

    /// Goes to the relay if the host's own line limits its viewers.
    private func checkLine() async {
        guard state.with({ $0.direct > 1 && !$0.policy.movesAll && !$0.isReturning }),
            let flows = await core.ifRunning(viewerFlows)
        else { return }
        let viewers = state.with { state -> Int? in
            let now = MonotonicClock.now
            guard state.bottleneck.update(flows, now: now),
                state.policy.noteLineLimit(viewers: state.direct, now: now)
            else { return nil }
            return state.direct
        }
        guard let viewers else { return }
        emit(.warning("this machine's line is too slow for \(viewers) viewers"))
        moveAll()
    }

    /// Publishes to the relay, unless that runs, or failed a moment ago.
    private func publish() {
        let publication = makePublication(MeetingPublication(relay))
        let isNeeded = state.with { state in
            guard state.publication == nil, !state.hasEnded, state.retry.map({ $0 <= .now }) ?? true else {
                return false
            }
            (state.publication, state.place) = (publication, relay.link)
            return true
        }
        if isNeeded { Task { await run(publication) } }
    }

    private func makePublication(_ endpoint: any PublishingEndpoint) -> ServicePublication {
        ServicePublication(
            core: core, service: endpoint, admission: signaling.knocks, isOnly: false, onEvent: emit,
            report: { [weak self] in self?.handle($0) })
    }

    private var failover: RelayFailover {
        RelayFailover(
            make: { self.makePublication($0) },
            take: { [state] publication, paired in
                state.with { state in
                    if !state.hasEnded { (state.publication, state.place) = (publication, paired.link) }
                    return !state.hasEnded
                }
            },
            isWanted: { [state] in !state.with { $0.hasEnded } }, emit: emit)
    }

    private func run(_ publication: ServicePublication) async {
        let watching = Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(1))) != nil { await self?.returnIfCalm() }
        }
        let reason: EndReason
        do throws(EndReason) {
            try await publication.open()
            reason = await failover.run(publication, of: relay)
        } catch {
            reason = error
        }
        watching.cancel()
        await state.with { $0.publication }?.abandon(reason)
        let (wasUsed, isNews, pause): (Bool, Bool, Duration?) = state.with { state in
            let wasUsed = state.link != nil || state.isReturning
            let isNews = !state.isReturning && (wasUsed || state.failure != reason.sentence)
            state.failures = wasUsed ? 0 : state.failures + 1
            state.failure = reason.sentence
            let pause = Self.retryInterval * (1 << min(max(state.failures - 1, 0), Self.doublingLimit))
            (state.publication, state.place, state.link, state.retry) = (nil, nil, nil, .now + pause)
            (state.elsewhere, state.isReturning) = (0, false)
            state.policy.publicationEnded()
            return (wasUsed, isNews, state.hasEnded ? nil : pause)
        }
        audience.pass(ViewersElsewhere(), interval: .zero)
        guard let pause else { return }
        if isNews { emit(.warning("\(relay.name) does not send to the viewers: \(reason.sentence)")) }
        if wasUsed {
            emit(.routeChanged(isOverRelay: false, relay: relay.name))
            for viewer in await core.ifRunning({ $0.watchingViewers }) ?? [] {
                signaling.send(redirect: nil, to: viewer.id)
            }
        }
        try? await Task.sleep(for: pause)
        // Whoever has come meanwhile has caused no publication.
        state.with { if $0.publication == nil { $0.policy.publicationEnded() } }
        guard let audience = await core.ifRunning({ $0.audience }) else { return }
        joined(viewers: audience.viewers)
        if !(await unreachableViewers()).isEmpty { publish() }
    }

    /// Ends the publication when few viewers are left, for a while. They come back first, or by themselves after it.
    private func returnIfCalm() async {
        guard state.with({ $0.link }) != nil, let audience = await core.ifRunning({ $0.audience }) else { return }
        _ = await unreachableViewers()
        let publication = state.with { state -> ServicePublication? in
            guard
                state.policy.update(
                    direct: audience.viewers, elsewhere: state.elsewhere, now: MonotonicClock.now)
            else { return nil }
            // Nobody is sent there any more, also none of those who come back.
            state.link = nil
            state.policy.publicationEnded()
            state.isReturning = true
            return state.publication
        }
        guard let publication else { return }
        await waitForReturn(publication)
        await publication.close(EndReason(.stopped, "few viewers are left"))
    }

    /// Has the viewers come back while the publication goes on, and waits until they have, for some seconds.
    private func waitForReturn(_ publication: ServicePublication) async {
        guard await publication.returnViewers() else { return }
        let deadline = ContinuousClock.now + Self.returnTime
        while state.with({ $0.elsewhere > 0 && !$0.hasEnded }), ContinuousClock.now < deadline {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return }
        }
    }

    private func handle(_ event: ServiceEvent) {
        switch event {
        case .broadcastURL(let text): published(text)
        case .serviceInfo(let info):
            guard let count = info.viewers else { return }
            var elsewhere = ViewersElsewhere()
            elsewhere.count = max(0, count)
            elsewhere.isForAll = state.with { state in
                state.elsewhere = elsewhere.count
                return state.policy.movesAll
            }
            audience.pass(elsewhere, interval: Self.audienceInterval)
        default: break
        }
    }

    /// The relay has told where the broadcast can be watched. Only a link to this relay is believed.
    private func published(_ text: String) {
        guard let link = try? Link(parsing: text), link.relay == nil else { return }
        let (isNew, isFirst) = state.with { state in
            guard let place = state.place, link.fingerprint == place.fingerprint, !state.hasEnded, !state.isReturning,
                state.link != link
            else { return (false, false) }
            defer { state.link = link }
            return (true, state.link == nil)
        }
        guard isNew else { return }
        if isFirst { emit(.routeChanged(isOverRelay: true, relay: relay.name)) }
        links.with { $0 }?.pass(link, interval: Self.linkInterval)
    }

    /// Sends those to the relay who are to watch there.
    private func send(to link: Link) async {
        guard state.with({ $0.link }) == link else { return }
        guard state.with({ $0.policy.movesAll }) else {
            for (session, viewer) in await unreachableViewers() { redirect(viewer, session, to: link) }
            return state.with { $0.policy.noteSent() }
        }
        await redirectAll(to: link)
    }

    // MARK: The viewers

    private func opened(_ session: SessionID, _ viewer: Viewer) {
        if let link = commonLink { return redirect(viewer, session, to: link) }
        Task { [weak self] in
            try? await Task.sleep(for: Self.connectTime)
            await self?.checkConnection(of: session, viewer)
        }
    }

    /// Sends a viewer to the relay if no media reaches it.
    private func checkConnection(of session: SessionID, _ viewer: Viewer) async {
        let isUnreachable = await core.ifRunning { [state] broadcast in
            // The end of the session is reported on this thread, too, so no entry outlives it.
            guard broadcast.unconnected.contains(session) else { return false }
            return state.with { $0.policy.noteUnreachable(session, viewer, now: MonotonicClock.now) }
        }
        guard isUnreachable == true else { return }
        guard let link = state.with({ $0.link }) else { return publish() }
        redirect(viewer, session, to: link)
        state.with { $0.policy.noteSent() }
    }

    /// Those of the unreachable viewers that have not been connected meanwhile.
    private func unreachableViewers() async -> [SessionID: Viewer] {
        guard !state.with({ $0.policy.unreachableViewers.isEmpty }) else { return [:] }
        return await core.ifRunning { [state] broadcast in
            let unconnected = broadcast.unconnected
            return state.with { state in
                state.policy.keepUnreachable(unconnected)
                return state.policy.unreachableViewers
            }
        } ?? [:]
    }

    private func redirectAll(to link: Link) async {
        await redirect((await core.ifRunning { $0.watchingViewers } ?? []).map(\.id), to: link)
    }

    private func redirect(_ sessions: [SessionID], to link: Link) async {
        for session in sessions {
            guard let known = await core.ifRunning({ $0.viewer(of: session) }) ?? nil else { continue }
            redirect(known.0, session, to: link)
        }
    }

    /// A viewer that opens a stream of events may have missed its order, and an old one is not valid any more.
    private func repeatOrders(to sessions: [SessionID]) async {
        if let link = commonLink { return await redirect(sessions, to: link) }
        guard let link = state.with({ $0.link }) else { return }
        let unreachable = await unreachableViewers()
        for session in sessions {
            if let viewer = unreachable[session] { redirect(viewer, session, to: link) }
        }
    }

    /// Sends a viewer to the relay. Players with the fixed token have no identity, and stay.
    private func redirect(_ viewer: Viewer, _ session: SessionID, to link: Link) {
        guard let redirect = redirect(of: viewer, to: link) else { return }
        signaling.send(redirect: redirect, to: session)
    }

    private func redirect(of viewer: Viewer, to link: Link) -> SignedRedirect? {
        guard let identity = viewer.identity, let redirect = signer.redirect(of: viewer, to: link) else { return nil }
        signaling.knocks.noteRedirect(of: identity, records: viewer.records)
        return redirect
    }

    // MARK: The broadcast's reports

    func broadcast(emitted event: BroadcastEvent) {
        if let isPublication = event.peer?.isPublication, isPublication {
            state.with { $0.publication }?.broadcast(emitted: event)
            return
        }
        signaling.broadcast(emitted: event)
        switch event {
        case .viewerJoined(_, let viewers): joined(viewers: viewers)
        case .broadcastPaused, .broadcastResumed: state.with { $0.publication }?.notePause()
        default: break
        }
    }

    func broadcast(foundCandidates fragment: String, of session: SessionID) {
        signaling.broadcast(foundCandidates: fragment, of: session)
        state.with { $0.publication }?.broadcast(foundCandidates: fragment, of: session)
    }

    func broadcast(changed audience: Audience) { signaling.broadcast(changed: audience) }

    func broadcast(ended session: SessionID, audience: Audience) {
        state.with { state in
            state.policy.ended(session)
            state.direct = audience.viewers
        }
        signaling.broadcast(ended: session, audience: audience)
        state.with { $0.publication }?.broadcast(ended: session, audience: audience)
    }
}

extension Broadcast {
    /// The sessions of viewers to which no media flows yet.
    fileprivate var unconnected: Set<SessionID> {
        Set(watchingViewers.lazy.filter { $0.connectedFor == nil }.map(\.id))
    }
}

extension BroadcastEvent {
    /// The peer of whose session it tells; nil for all other events.
    fileprivate var peer: ViewerDescription? {
        switch self {
        case .viewerJoined(let peer, _), .connected(let peer, _), .interrupted(let peer), .resumed(let peer, _, _),
            .viewerLeft(let peer, _, _):
            peer
        default: nil
        }
    }
}
