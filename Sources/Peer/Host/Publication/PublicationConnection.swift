import Admission
import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import PeerEngine
import SessionDescription
import Signaling
import Synchronization

/// The connection of a publication to one endpoint: carries out its requests, and tells the endpoint what is shown.
/// Safe from any thread.
final class PublicationConnection: Sendable {
    typealias State = PublicationState

    let service: any PublishingEndpoint
    /// The pairing, by which other relays of a cluster take the broadcast; nil: they do not.
    let paired: PairedService?
    /// Fulfilled when the endpoint was told of the end.
    let closed = OneShot<Void>()
    /// The newest session that was offered.
    let session = Mutex<SessionID?>(nil)
    /// What is published is encrypted for the viewers.
    private let isSealed: Bool
    private let core: LoopBound<Broadcast>
    /// The servers that the endpoint has named.
    private let preparation = Mutex<ICEServerPreparation?>(nil)
    private let listening = Mutex<Task<Void, Never>?>(nil)
    /// The questions about viewers.
    private let questions = Mutex<[Int: Task<Void, Never>]>([:])
    /// Has the broadcast listed.
    let listing: CoalescedAction
    /// Tells what the broadcast's user holds back.
    let hold: CoalescedAction
    /// Tells which application is shown.
    let application: CoalescedAction

    /// The time that the offer waits for candidates.
    private static let gatheringTime = MediaDuration.milliseconds(200)
    /// The time that the offer waits where no candidate can be sent later.
    private static let completeGatheringTime = MediaDuration.seconds(3)
    private static let restartTimeout = Duration.seconds(3)
    private static let listingInterval = Duration.seconds(5)
    private static let applicationInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - shown: the application that is shown.
    ///   - emit: called with the reason why the endpoint does not list the broadcast, if that is news.
    init(
        _ service: any PublishingEndpoint, paired: PairedService?, isSealed: Bool, core: LoopBound<Broadcast>,
        shown: Monitor<ApplicationInfo?>, emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) {
        (self.service, self.paired, self.isSealed, self.core) = (service, paired, isSealed, core)
        let refusal = Mutex<String?>(nil)
        // A relay tells the viewers' link on each stream of events, and may do so as often as it likes, so a pause
        // follows each request.
        listing = CoalescedAction {
            do throws(SignalingError) {
                try await service.list()
            } catch {
                let reason = error.description
                let isNews = refusal.withLock { known in
                    defer { known = reason }
                    return known != reason
                }
                if isNews { emit(.notice(.relay(.notListed(by: service.name, reason: reason)))) }
            }
            try? await Task.sleep(for: Self.listingInterval)
        }
        // Without a word the service takes the broadcast as running.
        let toldHold = Mutex<BroadcastHold?>(nil)
        hold = CoalescedAction {
            let hold = await core.ifRunning { $0.holds.effective } ?? nil
            guard hold != toldHold.withLock({ $0 }) else { return }
            // A service that cannot be told, or has gone, shows the last frame.
            try? await service.send(.hold(hold))
            toldHold.withLock { $0 = hold }
        }
        let told = Mutex<ApplicationInfo?>(nil)
        application = CoalescedAction {
            guard let application = shown.with({ $0 }), application != told.withLock({ $0 }) else { return }
            // A service that takes none shows what the pairing said.
            try? await service.send(.application(application))
            told.withLock { $0 = application }
            try? await Task.sleep(for: Self.applicationInterval)
        }
    }

    var endpoint: State.Endpoint { .init(name: service.name, isOverRelay: service.isOverRelay) }

    // MARK: Requests

    /// Sends the offer, and begins the session with the answer.
    /// - Parameter done: called on the loop, if it runs, before the session reports anything.
    func open(_ done: @escaping @Sendable (State.Result) -> Void) async {
        let receiver = Viewer(
            knock: nil, name: service.name, kind: "service", address: service.host,
            fingerprint: service.fingerprint ?? [])
        let time = service.takesLateCandidates ? Self.gatheringTime : Self.completeGatheringTime
        let offered = await core.answer { [isSealed] in
            $0.offer(to: receiver, isSealed: isSealed, timeout: time, done: $1)
        }
        let offer: LocalOffer
        switch offered ?? .failure(OfferRefusal(.ended, "The broadcast has ended.")) {
        case .success(let made): offer = made
        case .failure(let refusal):
            return done(.failed(EndReason(.failed, "cannot offer the broadcast: \(refusal.detail)")))
        }
        let answer: String
        do throws(SignalingError) {
            answer = try await service.publish(offer.sdp).sdp
        } catch {
            core.perform { $0.cancelOffer(offer.id) }
            return done(.failed(EndReason(error, service: service.name)))
        }
        session.withLock { $0 = offer.id }
        let isRunning = core.perform { [self] broadcast in
            do throws(EndReason) {
                try broadcast.begin(offer.id, answer: answer)
                done(.opened(offer.id, hasServers: takeServers()))
            } catch {
                done(.failed(error))
            }
        }
        if !isRunning { done(.failed(EndReason(.stopped, "the broadcast has ended"))) }
    }

    /// Ends a session, unless ICE has found a path.
    /// - Returns: whether it was ended.
    func replace(_ session: SessionID) async -> Bool {
        let isReplaced = await core.ifRunning { broadcast in
            guard !broadcast.hasPath(session) else { return false }
            broadcast.close(session)
            return true
        }
        return isReplaced ?? false
    }

    /// Takes note of the servers that came with the answer (RFC 9725 section 4.6).
    /// - Returns: whether there are any.
    private func takeServers() -> Bool {
        let granted = service.grantedServers
        guard !granted.servers.isEmpty else { return false }
        preparation.withLock { preparation in
            if let preparation {
                preparation.use([], granted: granted)
            } else {
                preparation = ICEServerPreparation(granted: granted)
            }
        }
        return true
    }

    /// Restarts ICE, after the addresses of the servers were looked up if they are added.
    func restart(_ session: SessionID, _ servers: State.Servers) async -> State.Result {
        var usesServers = false
        switch servers {
        case .kept: break
        case .added: usesServers = await useServers(session)
        case .addedUnlessConnected:
            guard await !hasPath(session) else { return .restarted(.answered, usesServers: false) }
            usesServers = await useServers(session)
            guard usesServers, await !hasPath(session) else {
                return .restarted(.answered, usesServers: usesServers)
            }
        }
        return .restarted(await restart(session), usesServers: usesServers)
    }

    private func useServers(_ session: SessionID) async -> Bool {
        guard let addresses = await preparation.withLock({ $0 })?.addresses(), !addresses.isEmpty else { return false }
        await core.ifRunning { $0.use(addresses, for: session) }
        return true
    }

    /// A broadcast that has ended needs no path.
    private func hasPath(_ session: SessionID) async -> Bool { await core.ifRunning { $0.hasPath(session) } ?? true }

    private func restart(_ session: SessionID) async -> OutageRecovery.AttemptResult {
        guard let fragment = await core.answer(to: { $0.restart(session, done: $1) }) ?? nil else { return .failed }
        do throws(SignalingError) {
            let answer = try await service.restart(fragment, timeout: Self.restartTimeout)
            guard let parsed = try? TrickleFragment.parse(answer.fragment), parsed.credentials != nil else {
                return .failed
            }
            await core.ifRunning { $0.resume(session, parsed) }
            return .answered
        } catch {
            return error.code == .gone ? .gone : .failed
        }
    }

    // MARK: Events and questions

    /// - Parameter body: listens until it is cancelled or the stream has ended.
    func listen(_ body: @escaping @Sendable () async -> Void) {
        listening.withLock { listening in
            listening?.cancel()
            listening = Task { await body() }
        }
    }

    func ask(_ question: Int, _ body: @escaping @Sendable () async -> Void) {
        questions.withLock { $0[question] = Task { await body() } }
    }

    func forget(_ question: Int) { questions.withLock { $0.removeValue(forKey: question) }?.cancel() }

    /// - Parameter isGone: the session ends first; else the endpoint is told first.
    func close(_ session: SessionID?, isGone: Bool) async {
        for action in [listing, hold, application] { action.stop() }
        listening.withLock { $0 }?.cancel()
        for question in questions.withLock({ $0.values }) { question.cancel() }
        if isGone { discard(session) }
        await service.close()
        if !isGone { discard(session) }
        await preparation.withLock { $0 }?.close()
        closed.fulfil(())
    }

    private func discard(_ session: SessionID?) {
        if let session { core.perform { $0.close(session) } }
    }
}
