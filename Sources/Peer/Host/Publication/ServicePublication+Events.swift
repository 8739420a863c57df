import Admission
import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import PeerConnection
import SessionDescription
import Signaling

/// The service's events, what the service is told, and the viewers about which a relay asks.
extension ServicePublication {
    /// How many refused connections in a row, a second apart, mean that the service has stopped.
    private static let refusalLimit = 2
    /// The most other relays that one can name.
    private static let relayLimit = 8
    private static let listingInterval = Duration.seconds(5)

    func listen() async {
        var refusals = 0
        while !Task.isCancelled {
            do {
                guard let events = try await service.events() else { return }
                refusals = 0
                defer { withdrawAll() }
                for try await event in events { await handle(event) }
            } catch let error as SignalingError where error.code == .connectionRefused && !service.isOverRelay {
                // An outage of the network answers nothing; this is the service's machine without the service.
                refusals += 1
                if refusals == Self.refusalLimit {
                    return outcome.fulfil(
                        EndReason(.serviceEnded, "\(service.name) has gone: nothing listens at its port any more"))
                }
            } catch {
                // The connection broke; media may continue without it.
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }

    func handle(_ event: ServiceEvent) async {
        guard isBelieved(event) else { return }
        report(event)
        switch event {
        case .serviceInfo: break
        case .slowestBitrate(let bitrate):
            guard let session = state.with({ $0.session }) else { return }
            await core.ifRunning { $0.note(slowest: bitrate, behind: session) }
        case .broadcastURL(let text):
            if let link = try? Link(parsing: text) { state.with { $0.broadcast = link.id } }
            listing.request()
        case .alternates(let texts): note(texts)
        case .reconnect:
            state.with { $0.isAskedToMove = true }
            moveIfAsked()
        case .viewer(let knock): ask(knock)
        case .viewerWithdrawn(let id): withdraw(id)
        case .finished(let reason, let nextStep):
            state.with { $0.isFinal = true }
            outcome.fulfil(EndReason(.serviceEnded, "\(service.name) ended it: \(reason)", remedy: nextStep ?? ""))
        case .candidates(let text):
            guard let fragment = try? TrickleFragment.parse(text), let session = state.with({ $0.session }) else {
                return
            }
            await core.ifRunning { $0.add(fragment, to: session) }
        }
    }

    /// A relay that passes on a service's events could make up other places for the broadcast, which would get it, and
    /// questions about viewers. The services that are reached over it have neither.
    private func isBelieved(_ event: ServiceEvent) -> Bool {
        guard service.isOverRelay else { return true }
        switch event {
        case .alternates, .reconnect, .viewer, .viewerWithdrawn, .slowestBitrate: return false
        case .serviceInfo, .broadcastURL, .finished, .candidates: return true
        }
    }

    /// Takes note of other relays. Only the same service of theirs is believed.
    func note(_ texts: [String]) {
        let links = texts.prefix(Self.relayLimit).compactMap { try? ServiceLink(parsing: $0) }
        let own = (service as? PairedService)?.link ?? (service as? TunnelPublication)?.link
        state.with { $0.relays = links.filter { $0.id == own?.id } }
        moveIfAsked()
    }

    /// Goes on at another relay if this one has asked for that and another one is known.
    private func moveIfAsked() {
        guard state.with({ $0.isAskedToMove }), otherPlaces != nil else { return }
        outcome.fulfil(EndReason(.serviceEnded, "\(service.name) is about to stop"))
    }

    /// A relay tells the viewers' link on each stream of events, and may do so as often as it likes, so a pause follows
    /// each request.
    static func listing(
        _ service: any PublishingEndpoint, _ onEvent: @escaping @Sendable (BroadcastEvent) -> Void
    ) -> CoalescedAction {
        let known = Monitor<String?>(nil)
        return CoalescedAction {
            do throws(SignalingError) {
                try await service.list()
            } catch {
                let reason = error.description
                let isNews = known.with { known in
                    defer { known = reason }
                    return known != reason
                }
                if isNews { onEvent(.notice(.relay(.notListed(by: service.name, reason: reason)))) }
            }
            try? await Task.sleep(for: listingInterval)
        }
    }

    static func pause(_ core: LoopBound<Broadcast>, _ service: any PublishingEndpoint) -> CoalescedAction {
        // Without a word the service takes the broadcast as running.
        let told = Monitor(false)
        return CoalescedAction {
            let isPaused = await core.ifRunning { $0.isPaused } ?? false
            guard isPaused != told.with({ $0 }) else { return }
            // A service that cannot be told, or has gone, shows the last frame.
            try? await service.tell(isPaused: isPaused)
            told.with { $0 = isPaused }
        }
    }

    /// Tells the service whether the broadcast is paused: its newest state.
    func notePause() { pause.request() }

    /// The most viewers that are asked about at a time. A relay asks about fewer.
    private static let questionLimit = 64

    /// Decides about a viewer that wants to watch at the relay.
    private func ask(_ knock: Knock) {
        let (service, admission) = (service, admission)
        state.with { state in
            guard !state.hasEnded, state.questions.count < Self.questionLimit, state.questions[knock.id] == nil
            else { return }
            state.questions[knock.id] = Task { [weak self] in
                let decision = await admission?.decide(knock) ?? .refused(nil)
                guard self?.state.with({ $0.questions.removeValue(forKey: knock.id) }) != nil else { return }
                await service.decide(decision, about: knock.id)
            }
        }
    }

    /// The relay asks again on the next stream about those that still wait.
    private func withdrawAll() { for id in state.with({ Array($0.questions.keys) }) { withdraw(id) } }

    private func withdraw(_ knock: KnockID) {
        guard let question = state.with({ $0.questions.removeValue(forKey: knock) }) else { return }
        question.cancel()
        admission?.knockWithdrawn(knock, because: .left)
    }
}
