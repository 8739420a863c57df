import Admission
package import EventLoop
import HTTP
package import Identifiers
import LinuxRuntime
package import MediaCore
package import PeerConnection
import SessionDescription
package import Signaling

/// Publishes a broadcast to one endpoint, and to nobody else (WHIP, RFC 9725). Restarts ICE while packets of it are
/// missing. Safe from any thread.
package final class ServicePublication: BroadcastDelegate, Sendable {
    let core: LoopBound<Broadcast>
    let service: any PublishingEndpoint
    let onEvent: @Sendable (BroadcastEvent) -> Void
    let report: @Sendable (ServiceEvent) -> Void
    let admission: KnockHandler?
    /// Set once, when the publication is over.
    let outcome = OneShot<EndReason>()

    struct State {
        /// Nil before the answer and after the end.
        var session: SessionID?
        var isConnected = false
        var isInterrupted = false
        /// The servers that the endpoint has named, and whether ICE has got them.
        var serverResolver: ICEServerResolver?
        var usesServers = false
        var hasEnded = false
        /// The other relays that the host knows.
        var relays: [ServiceLink] = []
        var broadcast: BroadcastID?
        /// The relay is about to stop.
        var isAskedToMove = false
        /// The relay has ended the broadcast, or this host has.
        var isFinal = false
        var isOver: Bool { hasEnded || isFinal }
        /// The questions about viewers.
        var questions: [KnockID: Task<Void, Never>] = [:]
    }
    let state = Monitor(State())
    /// Has the broadcast listed, once in some seconds at most.
    let listing: CoalescedAction
    /// Tells the service whether the broadcast is paused.
    let pause: CoalescedAction
    /// Tells the service which application is shown.
    let application: CoalescedAction

    /// How long the service's reason is waited for after the end of the media.
    private static let reasonTimeout = Duration.seconds(1)
    /// How long the offer waits for candidates.
    private static let gatheringTime = MediaDuration.milliseconds(200)
    /// The same where no candidate can be sent later.
    private static let completeGatheringTime = MediaDuration.seconds(3)

    /// - Parameters:
    ///   - admission: decides on viewers that a relay asks about; nil: they are refused.
    ///   - shown: the application that is shown; nil: nothing is told of it.
    ///   - isOnly: the broadcast has no viewers of its own, and reports to this publication.
    ///   - report: called with the service's events.
    init(
        core: LoopBound<Broadcast>, service: any PublishingEndpoint, admission: KnockHandler?, isOnly: Bool = true,
        shown: Monitor<ApplicationInfo?> = Monitor(nil),
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
        application = Self.application(shown, service)
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
        guard state.with({ !$0.isOver }) else {
            core.perform { $0.cancelOffer(offer.id) }
            throw .hostStopped
        }
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
        if takeServers() { Task { await connectWithServers(offer.id) } }
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
        noteApplication()
        let listening = Task { await listen() }
        let reason = await outcome.value
        listening.cancel()
        listing.stop()
        pause.stop()
        application.stop()
        let questions = state.with { state in
            state.hasEnded = true
            defer { state.questions = [:] }
            return state.questions
        }
        for question in questions.values { question.cancel() }
        await closeServers()
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
        outcome.fulfil(reason)
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
        outcome.fulfil(reason)
        await service.close()
        await closeServers()
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
        case .connected: state.with { $0.isConnected = true }
        case .resumed: state.with { $0.isInterrupted = false }
        default: break
        }
    }

    package func broadcast(foundCandidates fragment: String, of session: SessionID) {
        guard service.takesLateCandidates, state.with({ $0.session == session }) else { return }
        Task { try? await service.trickle(fragment) }
    }

    package func broadcast(changed audience: Audience) {}
    package func broadcast(has layers: [VideoLayer], in line: Int, of sessions: [SessionID]) {}

    /// The service's reason may follow on another connection.
    package func broadcast(ended session: SessionID, audience: Audience) {
        // Another publication may have ended a session of its own.
        guard state.with({ $0.session == session }) else { return }
        Task {
            try? await Task.sleep(for: Self.reasonTimeout)
            // It may have been opened again.
            guard state.with({ $0.session == session }) else { return }
            outcome.fulfil(EndReason(.serviceEnded, "\(service.name) has ended the broadcast, or has gone"))
        }
    }
}
