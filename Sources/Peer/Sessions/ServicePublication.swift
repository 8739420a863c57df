package import Admission
package import EventLoop
import LinuxRuntime
import MediaCore
package import Publishing
import Receiving
import SessionDescription
package import Signaling
package import Transport

/// Publishes a broadcast to one endpoint, and to nobody else (WHIP, RFC 9725). Restarts ICE while packets of it are
/// missing. Safe from any thread.
package final class ServicePublication: BroadcastDelegate, Sendable {
    private let core: LoopBound<Broadcast>
    private let service: any PublishingEndpoint
    private let onEvent: @Sendable (BroadcastEvent) -> Void
    private let report: @Sendable (ServiceEvent) -> Void
    private let admission: KnockHandler?
    /// Settled once, when the publication is over.
    private let outcome = Outcome()

    private struct State {
        /// Nil before the answer and after the end.
        var session: SessionID?
        var isInterrupted = false
        var hasEnded = false
        /// What the host knows of other relays.
        var relays: [ServiceLink] = []
        var broadcast: BroadcastID?
        /// The relay is about to stop.
        var isAskedToMove = false
        /// The relay has ended the broadcast, or this host has.
        var isFinal = false
        /// The questions about viewers.
        var questions: [KnockID: Task<Void, Never>] = [:]
    }
    private let state = Monitor(State())
    /// Has the broadcast listed, once in some seconds at most.
    private let listing: CoalescedAction
    /// Tells the service whether the broadcast is paused.
    private let pause: CoalescedAction

    /// How long a restart of ICE may take before the next one begins.
    private static let restartInterval = Duration.seconds(3)
    /// How long the service's reason is waited for after the end of the media.
    private static let reasonTimeout = Duration.seconds(1)
    /// How many refused connections in a row, a second apart, mean that the service has stopped.
    private static let refusalLimit = 2
    /// How many restarts fail before other relays are tried.
    private static let restartLimit = 2
    /// The most other relays that one can name.
    private static let relayLimit = 8
    private static let listingInterval = Duration.seconds(5)
    /// How long the offer waits for candidates.
    private static let gatheringTime = MediaDuration.milliseconds(200)
    /// The same where no candidate can be sent later.
    private static let completeGatheringTime = MediaDuration.seconds(3)

    /// - Parameters:
    ///   - admission: decides on viewers that a relay asks about; nil: they are refused.
    ///   - isOnly: the broadcast has no viewers of its own, and reports to this publication.
    ///   - report: called with the service's events.
    init(
        core: LoopBound<Broadcast>, service: any PublishingEndpoint, admission: KnockHandler?, isOnly: Bool = true,
        onEvent: @escaping @Sendable (BroadcastEvent) -> Void,
        report: @escaping @Sendable (ServiceEvent) -> Void
    ) {
        self.report = report
        self.admission = admission
        self.core = core
        self.service = service
        self.onEvent = onEvent
        listing = Self.listing(service, onEvent)
        pause = Self.pause(core, service)
        guard isOnly else { return }
        core.perform { [weak self] in $0.delegate = self }
    }

    /// - Parameter report: called with the service's events.
    package convenience init(
        core: LoopBound<Broadcast>, service: any PublishingEndpoint,
        onEvent: @escaping @Sendable (BroadcastEvent) -> Void, report: @escaping @Sendable (ServiceEvent) -> Void
    ) {
        self.init(core: core, service: service, admission: nil, onEvent: onEvent, report: report)
    }

    /// Sends the offer and applies the answer. Media follows when ICE has selected a pair.
    package func open() async throws(EndReason) {
        let offer = try await offer()
        let answer: OfferAnswer
        do throws(SignalingError) {
            answer = try await service.publish(offer.sdp)
        } catch {
            core.perform { $0.cancelOffer(offer.id) }
            throw EndReason(error, service: service.name)
        }
        // Its candidates are reported from now on.
        state.with { $0.session = offer.id }
        let failure = await core.ifRunning { broadcast -> EndReason? in
            do throws(EndReason) {
                try broadcast.begin(offer.id, answer: answer.sdp)
                return nil
            } catch {
                return error
            }
        }
        if let reason = failure ?? EndReason(.stopped, "the broadcast has ended") {
            state.with { $0.session = nil }
            throw reason
        }
    }

    private func offer() async throws(EndReason) -> LocalOffer {
        let receiver = Viewer(
            knock: nil, name: service.name, kind: "service", address: service.host,
            fingerprint: service.fingerprint ?? [])
        let time = service.takesLateCandidates ? Self.gatheringTime : Self.completeGatheringTime
        let result: Result<LocalOffer, OfferRefusal> = await withCheckedContinuation { continuation in
            let isRunning = core.perform {
                $0.offer(to: receiver, timeout: time) { continuation.resume(returning: $0) }
            }
            if !isRunning {
                continuation.resume(returning: .failure(OfferRefusal(.ended, "The broadcast has ended.")))
            }
        }
        do throws(OfferRefusal) {
            return try result.get()
        } catch {
            throw EndReason(.failed, "cannot offer the broadcast: \(error.detail)")
        }
    }

    /// Passes on the service's events until the publication is over.
    /// - Returns: why it is over.
    package func run() async -> EndReason {
        notePause()
        let listening = Task { await listen() }
        let reason = await outcome.wait()
        listening.cancel()
        listing.stop()
        pause.stop()
        let questions = state.with { state in
            state.hasEnded = true
            defer { state.questions = [:] }
            return state.questions
        }
        for question in questions.values { question.cancel() }
        return reason
    }

    /// Where a broadcast can go on.
    struct OtherPlaces {
        let relays: [ServiceLink]
        let broadcast: BroadcastID
        /// The relay still takes the broadcast.
        let isAlive: Bool
    }

    /// Where this broadcast can go on; nil: nowhere.
    var otherPlaces: OtherPlaces? {
        state.with { state in
            guard !state.isFinal, !state.relays.isEmpty, let broadcast = state.broadcast else { return nil }
            return OtherPlaces(relays: state.relays, broadcast: broadcast, isAlive: state.isAskedToMove)
        }
    }

    /// Ends the session with a relay that has gone; the broadcast stays.
    func abandon(_ reason: EndReason) async {
        outcome.settle(reason)
        let session = state.with { state in
            defer { state.session = nil }
            return state.session
        }
        if let session { await core.ifRunning { $0.close(session) } }
        let service = service
        Task.detached { await service.close() }
    }

    /// Ends the publication at the service.
    package func close(_ reason: EndReason) async {
        state.with { $0.isFinal = true }
        outcome.settle(reason)
        await service.close()
    }

    /// Has the service's viewers go back to the host.
    /// - Returns: false if the service cannot.
    func returnViewers() async -> Bool {
        do throws(SignalingError) {
            try await service.returnViewers()
            return true
        } catch {
            return false
        }
    }

    // MARK: The service's events

    private func listen() async {
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
                    return outcome.settle(
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
            if otherPlaces != nil { outcome.settle(EndReason(.serviceEnded, "\(service.name) is about to stop")) }
        case .viewer(let knock): ask(knock)
        case .viewerWithdrawn(let id): withdraw(id)
        case .finished(let reason, let nextStep):
            state.with { $0.isFinal = true }
            outcome.settle(EndReason(.serviceEnded, "\(service.name) ended it: \(reason)", remedy: nextStep ?? ""))
        case .candidates(let text):
            guard let fragment = try? TrickleFragment.parse(text), let session = state.with({ $0.session }) else {
                return
            }
            await core.ifRunning { $0.add(fragment, to: session) }
        }
    }

    /// A relay that passes on a service's events could make up other places for the broadcast, which would get it, and
    /// questions about viewers. The services that are met there have neither.
    private func isBelieved(_ event: ServiceEvent) -> Bool {
        guard service.isOverRelay else { return true }
        switch event {
        case .alternates, .reconnect, .viewer, .viewerWithdrawn, .slowestBitrate: return false
        case .serviceInfo, .broadcastURL, .finished, .candidates: return true
        }
    }

    /// Takes note of other relays. Only the same service of theirs is believed.
    private func note(_ texts: [String]) {
        let links = texts.prefix(Self.relayLimit).compactMap { try? ServiceLink(parsing: $0) }
        let own = (service as? PairedService)?.link ?? (service as? MeetingPublication)?.link
        state.with { $0.relays = links.filter { $0.id == own?.id } }
    }

    /// A relay tells the viewers' link on each stream of events, and may do so as often as it likes, so a pause follows each
    /// request.
    private static func listing(
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
                if isNews { onEvent(.warning("\(service.name) does not list this broadcast: \(reason)")) }
            }
            try? await Task.sleep(for: listingInterval)
        }
    }

    private static func pause(_ core: LoopBound<Broadcast>, _ service: any PublishingEndpoint) -> CoalescedAction {
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

    // MARK: The broadcast's reports

    package func broadcast(emitted event: BroadcastEvent) {
        switch event {
        // The end of the session is reported as the end of the broadcast, and nobody joins but the service.
        case .viewerJoined, .viewerLeft: return
        default: onEvent(event)
        }
        switch event {
        case .broadcastPaused, .broadcastResumed: notePause()
        case .interrupted:
            let isNew = state.with { state in
                defer { state.isInterrupted = true }
                return !state.isInterrupted
            }
            if isNew { Task { await recover() } }
        case .resumed: state.with { $0.isInterrupted = false }
        default: break
        }
    }

    package func broadcast(foundCandidates fragment: String, of session: SessionID) {
        guard service.takesLateCandidates, state.with({ $0.session == session }) else { return }
        Task { try? await service.trickle(fragment) }
    }

    /// The service's reason may follow on another connection.
    package func broadcast(changed audience: Audience) {}

    package func broadcast(ended session: SessionID, audience: Audience) {
        // Another publication may have ended a session of its own.
        guard state.with({ $0.session == session }) else { return }
        Task {
            try? await Task.sleep(for: Self.reasonTimeout)
            outcome.settle(EndReason(.serviceEnded, "\(service.name) has ended the broadcast, or has gone"))
        }
    }

    /// Restarts ICE until packets of the service arrive again. The session ends 30 s after the last packet.
    private func recover() async {
        var restarts = 0
        while let session = state.with({ $0.isInterrupted ? $0.session : nil }) {
            if restarts == Self.restartLimit, otherPlaces != nil {
                return outcome.settle(EndReason(.connectionLost, "nothing comes from \(service.name) any more"))
            }
            restarts += 1
            let begin = ContinuousClock.now
            let fragment: String? = await withCheckedContinuation { continuation in
                let isRunning = core.perform { $0.restart(session) { continuation.resume(returning: $0) } }
                if !isRunning { continuation.resume(returning: nil) }
            }
            if let fragment {
                do throws(SignalingError) {
                    let answer = try await service.restart(fragment, timeout: Self.restartInterval)
                    if let parsed = try? TrickleFragment.parse(answer.fragment) {
                        await core.ifRunning { $0.resume(session, parsed) }
                    }
                } catch {
                    // A relay that has started anew does not know the service yet.
                    if error.code == .gone, !service.isOverRelay {
                        return outcome.settle(
                            EndReason(.serviceEnded, "\(service.name) does not know this broadcast any more"))
                    }
                }
            }
            try? await Task.sleep(until: begin + Self.restartInterval, clock: .continuous)
        }
    }
}
