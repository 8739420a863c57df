import EventLoop
import Identifiers
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import Signaling

/// The publication to the relay: when it begins, goes on at another relay, and ends.
extension RelayHandover {
    /// After a publication that failed; twice as long after each other one, up to 160 s.
    private static let retryInterval = Duration.seconds(10)
    private static let doublingLimit = 4
    /// How long viewers may take to come back before the publication ends.
    private static let returnTime = Duration.seconds(12)
    /// Between two links to which viewers are sent.
    private static let linkInterval = MediaDuration.seconds(5)
    /// Between two reports of how many watch at the relay.
    private static let audienceInterval = MediaDuration.milliseconds(250)

    /// Where all viewers are sent; nil: the host serves them.
    var commonLink: Link? { state.with { $0.policy.movesAll ? $0.link : nil } }

    /// There is one more viewer.
    /// - Parameter viewers: those that are served directly.
    func joined(viewers: Int) {
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
    func checkLine() async {
        let isOpen = state.with { state in
            let isOpen = state.direct > 1 && !state.policy.movesAll && !state.isReturning
            // What was found before says nothing about the viewers that come later.
            if !isOpen { state.bottleneck = .init() }
            return isOpen
        }
        guard isOpen, let flows = await core.ifRunning(viewerFlows)
        else { return }
        let viewers = state.with { state -> Int? in
            let now = MonotonicClock.now
            guard state.bottleneck.update(flows, now: now),
                state.policy.noteLineLimit(viewers: state.direct, now: now)
            else { return nil }
            return state.direct
        }
        guard let viewers else { return }
        emit(.notice(.relay(.lineLimit(viewers: viewers))))
        moveAll()
    }

    /// Publishes to the relay, unless that runs, or failed a moment ago.
    func publish() {
        let publication = makePublication(TunnelPublication(relay))
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
            take: { [state, moved] publication, paired in
                let isWanted = state.with { state in
                    if !state.hasEnded { (state.publication, state.place) = (publication, paired.link) }
                    return !state.hasEnded
                }
                if isWanted { moved(paired) }
                return isWanted
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
        let isElsewhere = state.with { !$0.hasEnded && $0.place != nil && $0.place != relay.link }
        if isElsewhere { moved(relay) }
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
        audience.pass(RelayViewerCount(), interval: .zero)
        guard let pause else { return }
        if isNews { emit(.notice(.relay(.handoverFailed(relay: relay.name, reason)))) }
        if wasUsed {
            emit(.routeChanged(isOverRelay: false, relay: relay.name))
            for viewer in await core.ifRunning({ $0.watchingViewers }) ?? [] {
                core.perform { $0.noteMoved(viewer.id, false) }
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
            var elsewhere = RelayViewerCount()
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
    func send(to link: Link) async {
        guard state.with({ $0.link }) == link else { return }
        guard state.with({ $0.policy.movesAll }) else {
            for (session, viewer) in await unreachableViewers() { redirect(viewer, session, to: link) }
            return state.with { $0.policy.noteSent() }
        }
        await redirectAll(to: link)
    }
}
