import Admission
import EventLoop
import LinuxRuntime
import MediaCore
import Publishing
import Signaling
import Transport

/// Serves the first viewers of a met broadcast directly. When there are more, publishes it to the relay, once, and sends
/// all viewers there (`--route auto`). It stays at the relay until that fails. Without that, a viewer that no media
/// reaches is sent there alone. Safe from any thread.
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
        /// There were too many viewers to serve them directly.
        var movesAll = false
        /// The sessions that did not connect.
        var unreachable: [SessionID: Viewer] = [:]
        var hasEnded = false
    }

    private let core: LoopBound<Broadcast>
    /// Where viewers meet this host.
    private let relay: PairedService
    private let broadcast: BroadcastID
    private let identity: Identity
    /// The most viewers that are served directly.
    private let limit: Int
    private let signaling: BroadcastSignaling
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let noteViewersElsewhere: @Sendable (ViewersElsewhere) -> Void
    private let state = Monitor(State())

    /// After a publication that failed; twice as long after each other one, up to 160 s.
    private static let retryInterval = Duration.seconds(10)
    private static let doublingLimit = 4
    /// After that, a session that is not connected counts as unreachable.
    private static let connectTime = Duration.seconds(4)

    /// - Parameters:
    ///   - emit: called with the events of the publication.
    ///   - noteViewersElsewhere: called with the number of viewers at the relay.
    init(
        _ core: LoopBound<Broadcast>, of broadcast: BroadcastID, to relay: PairedService, identity: Identity,
        limit: Int, signaling: BroadcastSignaling, emit: @escaping @Sendable (BroadcastEvent) -> Void,
        noteViewersElsewhere: @escaping @Sendable (ViewersElsewhere) -> Void
    ) {
        self.noteViewersElsewhere = noteViewersElsewhere
        self.core = core
        self.broadcast = broadcast
        var relay = relay
        // It is asked about viewers, and the meeting is what is listed.
        (relay.decidesOnViewers, relay.title) = (true, nil)
        self.relay = relay
        self.identity = identity
        self.limit = limit
        self.signaling = signaling
        self.emit = emit
    }

    func start() {
        signaling.onOpen.with { $0 = { [weak self] in self?.opened($0, $1) } }
        signaling.redirect { [weak self] viewer in
            guard let self, let link = state.with({ $0.movesAll ? $0.link : nil }) else { return nil }
            return redirect(of: viewer, to: link)
        }
        core.perform { [weak self] in $0.delegate = self }
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

    /// There is one more viewer.
    /// - Parameter viewers: those that are served directly.
    private func joined(viewers: Int) {
        guard viewers > limit else { return }
        let link = state.with { state in
            defer { state.movesAll = true }
            return state.movesAll ? nil : state.link
        }
        publish()
        if let link { Task { await redirectAll(to: link) } }
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
        let reason: EndReason
        do throws(EndReason) {
            try await publication.open()
            reason = await failover.run(publication, of: relay)
        } catch {
            reason = error
        }
        await state.with { $0.publication }?.abandon(reason)
        let (wasUsed, isNews, pause): (Bool, Bool, Duration?) = state.with { state in
            let wasUsed = state.link != nil
            let isNews = wasUsed || state.failure != reason.sentence
            state.failures = wasUsed ? 0 : state.failures + 1
            state.failure = reason.sentence
            let pause = Self.retryInterval * (1 << min(max(state.failures - 1, 0), Self.doublingLimit))
            (state.publication, state.place, state.link, state.retry) = (nil, nil, nil, .now + pause)
            state.movesAll = false
            return (wasUsed, isNews, state.hasEnded ? nil : pause)
        }
        noteViewersElsewhere(ViewersElsewhere())
        guard let pause else { return }
        if isNews { emit(.warning("\(relay.name) does not send to the viewers: \(reason.sentence)")) }
        if wasUsed {
            emit(.routeChanged(isOverRelay: false, relay: relay.name))
            for viewer in await core.ifRunning({ $0.watchingViewers }) ?? [] {
                signaling.send(redirect: nil, to: viewer.id)
            }
        }
        try? await Task.sleep(for: pause)
        guard let audience = await core.ifRunning({ $0.audience }) else { return }
        joined(viewers: audience.viewers)
        if state.with({ !$0.unreachable.isEmpty }) { publish() }
    }

    private func handle(_ event: ServiceEvent) {
        switch event {
        case .broadcastURL(let text): published(text)
        case .serviceInfo(let info):
            guard let count = info.viewers else { return }
            var elsewhere = ViewersElsewhere()
            (elsewhere.count, elsewhere.isForAll) = (count, state.with { $0.movesAll })
            noteViewersElsewhere(elsewhere)
        default: break
        }
    }

    /// The relay has told where the broadcast can be watched. Only a link to this relay is believed.
    private func published(_ text: String) {
        guard let link = try? Link(parsing: text), link.relay == nil else { return }
        let (isNew, isFirst) = state.with { state in
            guard let place = state.place, link.fingerprint == place.fingerprint, !state.hasEnded, state.link != link
            else { return (false, false) }
            defer { state.link = link }
            return (true, state.link == nil)
        }
        guard isNew else { return }
        if isFirst { emit(.routeChanged(isOverRelay: true, relay: relay.name)) }
        let (movesAll, unreachable) = state.with { ($0.movesAll, $0.unreachable) }
        guard movesAll else { return unreachable.forEach { redirect($1, $0, to: link) } }
        Task { await redirectAll(to: link) }
    }

    // MARK: The viewers

    private func opened(_ session: SessionID, _ viewer: Viewer) {
        if let link = state.with({ $0.movesAll ? $0.link : nil }) { return redirect(viewer, session, to: link) }
        Task { [weak self] in
            try? await Task.sleep(for: Self.connectTime)
            await self?.checkConnection(of: session, viewer)
        }
    }

    /// Sends a viewer to the relay if no media reaches it.
    private func checkConnection(of session: SessionID, _ viewer: Viewer) async {
        let isUnreachable = await core.ifRunning { broadcast in
            broadcast.watchingViewers.contains { $0.id == session && $0.connectedFor == nil }
        }
        guard isUnreachable == true else { return }
        let link = state.with { state in
            state.unreachable[session] = viewer
            return state.link
        }
        if let link { redirect(viewer, session, to: link) } else { publish() }
    }

    private func redirectAll(to link: Link) async {
        for viewer in await core.ifRunning({ $0.watchingViewers }) ?? [] {
            guard let known = await core.ifRunning({ $0.viewer(of: viewer.id) }) ?? nil else { continue }
            redirect(known.0, viewer.id, to: link)
        }
    }

    /// Sends a viewer to the relay. Players with the fixed token have no identity, and stay.
    private func redirect(_ viewer: Viewer, _ session: SessionID, to link: Link) {
        guard let redirect = redirect(of: viewer, to: link) else { return }
        signaling.send(redirect: redirect, to: session)
    }

    private func redirect(of viewer: Viewer, to link: Link) -> SignedRedirect? {
        guard let viewerIdentity = viewer.identity,
            let redirect = try? SignedRedirect(
                to: link, of: broadcast, viewer: viewer.fingerprint, signedBy: identity)
        else { return nil }
        signaling.knocks.noteRedirect(of: viewerIdentity, records: viewer.records)
        return redirect
    }

    // MARK: The broadcast's reports

    func broadcast(emitted event: BroadcastEvent) {
        if let isPublication = event.peer?.isPublication, isPublication {
            state.with { $0.publication }?.broadcast(emitted: event)
            return
        }
        signaling.broadcast(emitted: event)
        if case .viewerJoined(_, let viewers) = event { joined(viewers: viewers) }
    }

    func broadcast(foundCandidates fragment: String, of session: SessionID) {
        signaling.broadcast(foundCandidates: fragment, of: session)
        state.with { $0.publication }?.broadcast(foundCandidates: fragment, of: session)
    }

    func broadcast(changed audience: Audience) { signaling.broadcast(changed: audience) }

    func broadcast(ended session: SessionID, audience: Audience) {
        state.with { $0.unreachable[session] = nil }
        signaling.broadcast(ended: session, audience: audience)
        state.with { $0.publication }?.broadcast(ended: session, audience: audience)
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
