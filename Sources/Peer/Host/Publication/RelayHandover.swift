import Admission
import EventLoop
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import Signaling

/// Serves the first viewers of a tunnelled broadcast directly. When there are more, publishes it to the relay, once, and sends
/// all viewers there (`--route auto`). It stays at the relay until that fails, or few viewers are left (``HandoverPolicy``).
/// Without that, a viewer that no media reaches is sent there alone. Safe from any thread.
///
/// Passes the reports of the broadcast to the signalling of its own viewers, and to the publication.
final class RelayHandover: BroadcastDelegate, Sendable {
    struct State {
        var publication: ServicePublication?
        /// Where it publishes: the relay of the tunnel, or another one of its cluster.
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

    let core: LoopBound<Broadcast>
    /// Where viewers reach this host.
    let relay: PairedService
    let signer: RedirectSigner
    let signaling: BroadcastSignaling
    let moved: @Sendable (PairedService) -> Void
    let emit: @Sendable (BroadcastEvent) -> Void
    /// Passes on how many watch at the relay, not as often as the relay may tell.
    let audience: Throttle<RelayViewerCount>
    /// Sends the viewers to another link, not as often as the relay may name one.
    let links = Monitor<Throttle<Link>?>(nil)
    let state: Monitor<State>
    let viewerFlows: @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow]

    /// - Parameters:
    ///   - moved: called when the publication goes on at another relay.
    ///   - emit: called with the events of the publication.
    ///   - noteRelayViewers: called with the number of viewers at the relay.
    ///   - viewerFlows: by which it decides whether the host's line is the limit, on the network loop.
    ///   - calmTime: how long few viewers have to be few until the host serves them itself again.
    init(
        _ core: LoopBound<Broadcast>, of broadcast: BroadcastID, to relay: PairedService, identity: Identity,
        limit: Int, calmTime: MediaDuration,
        viewerFlows: @escaping @Sendable (Broadcast) -> [SharedBottleneckDetector.Flow],
        signaling: BroadcastSignaling,
        moved: @escaping @Sendable (PairedService) -> Void,
        emit: @escaping @Sendable (BroadcastEvent) -> Void,
        noteRelayViewers: @escaping @Sendable (RelayViewerCount) -> Void
    ) {
        audience = Throttle(noteRelayViewers)
        state = Monitor(State(policy: HandoverPolicy(limit: limit, calmTime: calmTime)))
        self.core = core
        self.viewerFlows = viewerFlows
        signer = RedirectSigner(of: broadcast, identity: identity)
        var relay = relay
        // It is asked about viewers, and the tunnel is what is listed.
        (relay.decidesOnViewers, relay.title) = (true, nil)
        self.relay = relay
        self.signaling = signaling
        self.moved = moved
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

    func broadcast(has layers: [VideoLayer], in line: Int, of sessions: [SessionID]) {
        signaling.broadcast(has: layers, in: line, of: sessions)
    }

    func broadcast(ended session: SessionID, audience: Audience) {
        state.with { state in
            state.policy.ended(session)
            state.direct = audience.viewers
        }
        signaling.broadcast(ended: session, audience: audience)
        state.with { $0.publication }?.broadcast(ended: session, audience: audience)
    }

    func broadcast(displaced viewer: Viewer) { signaling.broadcast(displaced: viewer) }

    func broadcast(connected session: SessionID) { signaling.broadcast(connected: session) }
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
