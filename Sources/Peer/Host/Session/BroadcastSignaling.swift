package import Admission
package import EventLoop
package import Identifiers
import Identity
package import LinuxRuntime
package import MediaCore
import PeerConnection
package import Signaling
import Synchronization

/// Connects a broadcast on the network loop with its signalling server. Passes the viewers' requests to the broadcast,
/// and candidates, ends of sessions and the number of viewers to the server. Safe from any thread.
package final class BroadcastSignaling: SignalingServerDelegate, BroadcastDelegate {
    private let core: LoopBound<Broadcast>
    let knocks: KnockHandler
    private let onEvent: @Sendable (BroadcastEvent) -> Void
    /// Those that watch at a relay to which this host publishes, too.
    let viewersElsewhere: Monitor<RelayViewerCount>
    /// The server's handle of this broadcast.
    private let served: Monitor<BroadcastResource?>
    /// How long an admitted viewer waits for the relay. The server gives up a knock after a minute, with the question.
    private static let gateTime = Duration.seconds(15)
    /// Tells the viewers how many they are.
    private let audience: Throttle<Audience>
    /// Called when a viewer has opened a session (true), and when its last one is over.
    private let onPresence: @Sendable (Viewer, Bool) -> Void
    /// Returns what sends viewers to the relay of this host; nil: nobody is sent there.
    private let handover: @Sendable () -> RelayHandover?
    private let redirecting = Mutex<(@Sendable (Viewer) -> SignedRedirect?)?>(nil)
    /// Tells viewers who watches; nil: they are not told.
    private let watching: WatcherReporter?
    /// What viewers say; nil: they say nothing.
    let messages: ViewerMessages?
    /// Viewers watch at a relay alone, and pass it while the broadcast is there; nil: this host sends to them.
    let gate: AdmissionGate?

    package init(
        core: LoopBound<Broadcast>, knocks: KnockHandler,
        viewersElsewhere: Monitor<RelayViewerCount> = Monitor(.init()), gate: AdmissionGate? = nil,
        messages: MessagePolicy? = nil, showsViewers: Bool = false,
        handover: @escaping @Sendable () -> RelayHandover? = { nil },
        onEvent: @escaping @Sendable (BroadcastEvent) -> Void,
        onPresence: @escaping @Sendable (Viewer, Bool) -> Void = { _, _ in }
    ) {
        (self.core, self.onPresence, self.handover) = (core, onPresence, handover)
        self.viewersElsewhere = viewersElsewhere
        (self.knocks, self.gate) = (knocks, gate)
        self.onEvent = onEvent
        let served = Monitor<BroadcastResource?>(nil)
        self.served = served
        self.messages = messages.map { policy in
            ViewerMessages(
                policy, served: served,
                isOutdated: { input, sessions in
                    await core.ifRunning { $0.isOutdated(input, of: sessions, now: MonotonicClock.now) } ?? false
                },
                emit: onEvent)
        }
        watching = showsViewers ? WatcherReporter { names in served.with { $0 }?.send(.viewers(names)) } : nil
        // How many recorders the viewers know of.
        let recorders = Monitor(0)
        audience = Throttle { audience in
            guard let served = served.with({ $0 }) else { return }
            served.send(.viewerCount(audience.viewers))
            let isNew = recorders.with { recorders in
                defer { recorders = audience.recorders }
                return recorders != audience.recorders
            }
            if isNew { served.send(.recorderCount(audience.recorders)) }
        }
        core.perform { [weak self] in $0.delegate = self }
    }

    package func begin(_ broadcast: BroadcastResource) {
        served.with { $0 = broadcast }
        broadcast.send(.active)
    }

    /// Tells viewers these STUN and TURN servers from now on.
    func use(_ servers: [ICEServer]) { served.with { $0 }?.use(servers) }

    /// Ends the broadcast for its viewers. The server then refuses all requests for it.
    package func end(reason: String) async {
        let broadcast = served.with { served in
            defer { served = nil }
            return served
        }
        await broadcast?.end(reason: reason)
    }

    /// base64url of a text that only this viewer can read; nil: nothing is encrypted for it.
    func box(_ text: String, for viewer: Viewer) -> String? { served.with { $0 }?.box(text, for: viewer) }

    /// A viewer watches at the relay, or does not any more (nil).
    func noteMember(_ id: SessionID, _ viewer: Viewer?) {
        if let viewer { messages?.opened(id, viewer) } else { messages?.ended(id) }
    }

    /// Has the viewer of a session go on elsewhere; nil: not any more.
    func send(redirect: SignedRedirect?, to session: SessionID) {
        served.with { $0 }?.send(.reconnect(redirect), to: [session])
    }

    /// Tells all viewers.
    package func send(_ event: HostEvent) { served.with { $0 }?.send(event) }

    /// Withdraws what a viewer was granted, and tells it that the host removed it.
    package func remove(_ viewer: Viewer) async {
        if let identity = viewer.identity { knocks.noteRemoval(of: identity) }
        messages?.removed(viewer)
        await served.with { $0 }?.remove(viewer, reason: "the host removed you")
    }

    // MARK: The server's requests

    package func decide(_ knock: Knock) async -> KnockDecision {
        let decision = await knocks.decide(knock)
        guard gate != nil, decision.isAdmission else { return decision }
        guard await hasPlace() else {
            // It knocks again, which the host's user has answered already.
            knocks.noteRedirect(
                of: knock.identity, records: knock.records, isAdmittedByRule: decision == .acceptedByRule)
            return .busy("the broadcast is not at its relay at the moment")
        }
        // Meanwhile the host's user may have removed a viewer who came back.
        return knocks.hasRemoved(knock.identity) ? .refused("the host removed you") : decision
    }

    package func hasPlace() async -> Bool { await gate?.pass(within: Self.gateTime) ?? true }

    package func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async {
        knocks.knockWithdrawn(knock, because: reason)
    }

    package func closedMessages(of viewer: Viewer) async { messages?.releaseAll(of: viewer) }

    package func take(_ messages: [ViewerMessage], from viewer: Viewer) async -> MessageRefusal? {
        guard let own = self.messages else { return .notTaken }
        return await own.take(messages, from: viewer)
    }

    package func frameKeys(asMember viewer: Viewer?) async -> [UInt8]? {
        if let viewer, handover()?.members.add(viewer, hasArrived: true) == false { return nil }
        return await core.ifRunning { $0.encryption?.keys } ?? nil
    }

    package func redirect(of viewer: Viewer) -> SignedRedirect? {
        redirecting.withLock { $0 }?(viewer) ?? handover()?.redirect(of: viewer)
    }

    /// Has viewers that are admitted from now on go elsewhere at once, in the place of the handover; for tests.
    func redirect(by redirect: @escaping @Sendable (Viewer) -> SignedRedirect?) {
        redirecting.withLock { $0 = redirect }
    }

    package func passOn(_ event: String, isDroppable: Bool) {
        handover()?.tellMembers(event, isDroppable: isDroppable)
    }

    package func passOn(_ events: String, to session: SessionID) -> Bool {
        handover()?.tell(events, toMember: session) ?? false
    }

    package func openSession(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession {
        guard gate == nil else {
            throw OfferRefusal(.elsewhere, "this broadcast is shown at its relay alone, which this viewer was sent to")
        }
        let words = viewer.words?.description ?? ""
        let opened: OpenedSession = try await ask { broadcast, done in
            broadcast.open(offer: offer, viewer: viewer, words: words, answer: done)
        }
        if served.with({ $0 }) != nil { tell(await core.ifRunning { $0.audience } ?? Audience()) }
        return opened
    }

    package func applyFragment(_ fragment: String, to session: SessionID) async throws(OfferRefusal)
        -> RestartedSession?
    {
        try await ask { broadcast, done in broadcast.applyFragment(fragment, to: session, done: done) }
    }

    package func eventStreamChanged(isOpen: Bool, sessions: [SessionID]) async {
        await core.ifRunning { $0.eventStreamChanged(isOpen: isOpen, sessions: sessions) }
    }

    package func select(_ layers: LayerSelection, for session: SessionID) async throws(OfferRefusal) {
        try await ask { broadcast, done in
            done(Result { () throws(OfferRefusal) in try broadcast.select(layers, for: session) })
        }
    }

    package func closeSession(_ session: SessionID) async { await core.ifRunning { $0.close(session) } }

    /// Runs a request on the network loop and waits for its answer.
    private func ask<Answer: Sendable>(
        _ request: @escaping @Sendable (Broadcast, @escaping @Sendable (Result<Answer, OfferRefusal>) -> Void) -> Void
    ) async throws(OfferRefusal) -> Answer {
        let result = await core.answer(to: request) ?? .failure(OfferRefusal(.ended, "The broadcast has ended."))
        return try result.get()
    }

    // MARK: The broadcast's reports

    package func handle(_ report: BroadcastReport) {
        if case .event(let event) = report { return handle(event) }
        switch report {
        case .ended(let session, _):
            messages?.ended(session)
            watching?.ended(session)
        case .opened(let session, let viewer):
            onPresence(viewer, true)
            messages?.opened(session, viewer)
            watching?.opened(session, viewer)
        case .left(let viewer): onPresence(viewer, false)
        case .audience(let audience): tell(audience)
        case .event, .candidates, .connected, .displaced, .layers, .eventStreamOpened: break
        }
        guard let served = served.with({ $0 }) else { return }
        switch report {
        case .candidates(let fragment, let session): served.send(.candidates(fragment: fragment), to: [session])
        case .ended(let session, let audience):
            served.forget(session)
            tell(audience)
        case .connected(let session): served.noteMedia(of: session)
        case .displaced(let viewer):
            // Its token would bring the viewer back at once.
            Task {
                await served.remove(viewer, reason: "all places were taken, and your address had more than others")
            }
        case .layers(let layers, let line, let sessions):
            // Not on the network loop, as it may be for thousands.
            Task { served.send(.layers(VideoLayers(line: line, layers: layers)), to: sessions) }
        case .event, .audience, .opened, .eventStreamOpened, .left: break
        }
    }

    private func handle(_ event: BroadcastEvent) {
        if case .holdChanged(let change) = event {
            served.with { $0 }?.send(HostEvent(hold: change.effective))
            // The viewer would act without seeing.
            if change.effective != nil { _ = messages?.takeControlBack(because: .held) }
        }
        onEvent(event)
    }

    private func tell(_ audience: Audience) {
        var audience = audience
        audience.add(viewersElsewhere.with { $0 })
        self.audience.pass(audience, interval: .betweenAudienceReports(viewers: audience.viewers))
    }
}
