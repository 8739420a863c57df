import Admission
package import EventLoop
import HTTP
import Identifiers
import LinuxRuntime
import MediaCore
package import PeerConnection
import SessionDescription
package import Signaling
import Synchronization

/// Publishes a broadcast to one endpoint, and to nobody else (WHIP, RFC 9725); goes on at another relay of a cluster
/// when that one is lost or about to stop. Safe from any thread.
///
/// `PublicationState` decides, and this type carries its actions out, with a `PublicationConnection` for each endpoint.
package final class ServicePublication: BroadcastDelegate, Sendable {
    typealias State = PublicationState

    private let core: LoopBound<Broadcast>
    private let admission: KnockHandler?
    private let isSealed: Bool
    private let shown: Monitor<ApplicationInfo?>
    private let onEvent: @Sendable (BroadcastEvent) -> Void
    private let report: @Sendable (ServiceEvent) -> Void
    private let openTunnel: @Sendable (PairedService) async -> Bool
    private let moved: @Sendable (PairedService) -> Void
    let logic: StateMachineRunner<State>
    /// The last endpoint. Its pairing lets other relays take the broadcast; nil: none does.
    private let place: Mutex<(name: String, pairing: PairedService?)>
    /// The connections that have not been closed, by their numbers.
    private let connections: Mutex<[Int: PublicationConnection]>
    /// Nil: the first connection is open; else why it is not.
    private let opened = OneShot<EndReason?>()
    private let outcome = OneShot<EndReason>()

    /// - Parameters:
    ///   - service: the first endpoint.
    ///   - paired: the pairing with it; nil: no other relay takes the broadcast.
    ///   - admission: decides on viewers that a relay asks about; nil: they are refused.
    ///   - isSealed: what is published is encrypted for the viewers, by `Broadcast.encryption`.
    ///   - shown: the application that is shown; nil: nothing is told of it.
    ///   - isOnly: the broadcast has no viewers of its own, and reports to this publication.
    ///   - report: called with the service's events.
    ///   - openTunnel: called with a pairing with another relay, before the publication goes there. Returns whether a
    ///     tunnel has the pairing, too, which then keeps the client open.
    ///   - moved: called when the publication goes on at another relay.
    init(
        core: LoopBound<Broadcast>, service: any PublishingEndpoint, paired: PairedService? = nil,
        admission: KnockHandler?, isOnly: Bool = true, isSealed: Bool = false,
        shown: Monitor<ApplicationInfo?> = Monitor(nil),
        onEvent: @escaping @Sendable (BroadcastEvent) -> Void,
        report: @escaping @Sendable (ServiceEvent) -> Void,
        openTunnel: @escaping @Sendable (PairedService) async -> Bool = { _ in false },
        moved: @escaping @Sendable (PairedService) -> Void = { _ in }
    ) {
        (self.core, self.admission, self.isSealed, self.shown) = (core, admission, isSealed, shown)
        (self.onEvent, self.report, self.openTunnel, self.moved) = (onEvent, report, openTunnel, moved)
        let first = PublicationConnection(
            service, paired: paired, isSealed: isSealed, core: core, shown: shown, emit: onEvent)
        connections = Mutex([0: first])
        place = Mutex((service.name, paired))
        logic = StateMachineRunner(State(first.endpoint, service: paired?.link.id), on: core.loop)
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

    /// The name of the endpoint where the broadcast is, or was last.
    var name: String { place.withLock { $0.name } }

    /// Sends the offer and applies the answer. Media follows when ICE has selected a pair.
    package func open() async throws(EndReason) {
        handle(.start)
        if let reason = await opened.value { throw reason }
    }

    /// Publishes until the publication is over.
    /// - Returns: why it is over.
    package func run() async -> EndReason {
        handle(.start)
        return await outcome.value
    }

    /// Ends the publication at the service. May be called more than once.
    package func close(_ reason: EndReason) async {
        handle(.close(reason))
        for connection in connections.withLock({ Array($0.values) }) { await connection.closed.value }
    }

    /// Tells the endpoint something. Viewers whom keys do not reach ask for them.
    /// - Returns: false if the endpoint cannot be told.
    @discardableResult
    func send(_ message: PublisherMessage) async -> Bool {
        do throws(SignalingError) {
            try await present?.service.send(message)
            return present != nil
        } catch {
            return false
        }
    }

    /// Tells the service what the broadcast's user holds back: the newest state.
    func noteHold() { present?.hold.request() }

    /// Tells the service the newest application, once in some seconds at most.
    func noteApplication() { present?.application.request() }

    // MARK: The broadcast's reports

    package func handle(_ report: BroadcastReport) {
        switch report {
        // The end of the session is reported as the end of the broadcast, and nobody joins but the service.
        case .event(.viewerJoined), .event(.viewerLeft): break
        case .event(let event):
            onEvent(event)
            switch event {
            case .holdChanged: noteHold()
            case .connected: handle(.media(.connected))
            case .interrupted: handle(.media(.interrupted))
            case .resumed: handle(.media(.resumed))
            default: break
            }
        case .candidates(let fragment, let session):
            let open = connections.withLock { Array($0.values) }
            guard let connection = open.first(where: { $0.session.withLock { $0 } == session }),
                connection.service.takesLateCandidates
            else { return }
            Task { try? await connection.service.trickle(fragment) }
        case .ended(let session, _): handle(.ended(session))
        case .audience, .layers, .opened, .eventStreamOpened, .connected, .left, .displaced: break
        }
    }

    // MARK: Actions

    private func connection(_ number: Int) -> PublicationConnection? { connections.withLock { $0[number] } }

    private var present: PublicationConnection? { logic.read { $0.presentNumber }.flatMap(connection) }

    func handle(_ input: State.Input) { logic.handle(input, of: self) { $0.carryOut($1) } }

    private func carryOut(_ action: State.Action) {
        switch action {
        case .request(let id, let number, let request): carryOut(request, id, of: number)
        case .begin(let number):
            opened.fulfil(nil)
            listen(number)
            connection(number)?.hold.request()
            connection(number)?.application.request()
        case .listen(let number): listen(number)
        case .close(let number, let session, let isGone):
            guard let connection = connection(number) else { return }
            Task {
                await connection.close(session, isGone: isGone)
                connections.withLock { _ = $0.removeValue(forKey: number) }
            }
        case .discard(let session): core.perform { $0.close(session) }
        case .report(let event, let session):
            report(event)
            if let session { pass(event, to: session) }
        case .list(let number): connection(number)?.listing.request()
        case .ask(let question, let knock, let number): ask(question, knock, connection(number))
        case .decide(let decision, let knock, let number):
            let service = connection(number)?.service
            Task { try? await service?.send(.decision(decision, about: knock)) }
        case .withdraw(let question, let knock, let number):
            connection(number)?.forget(question)
            admission?.knockWithdrawn(knock, because: .left)
        case .emit(let event): onEvent(event)
        case .moved(let number):
            guard let paired = connection(number)?.paired else { return }
            place.withLock { $0 = (paired.name, paired) }
            moved(paired)
            onEvent(.notice(.relay(.publicationMoved(relay: paired.link.authority))))
        case .end(let reason):
            logic.close()
            opened.fulfil(reason)
            outcome.fulfil(reason)
        }
    }

    private func carryOut(_ request: State.Request, _ id: Int, of number: Int) {
        let connection = connection(number)
        Task {
            switch request {
            case .pair(let link, let broadcast):
                handle(.result(id, of: number, await pair(at: link, resuming: broadcast, number)))
            case .open: await connection?.open { self.handle(.result(id, of: number, $0)) }
            case .restart(let session, let servers):
                guard let result = await connection?.restart(session, servers) else { return }
                handle(.result(id, of: number, result))
            case .replace(let session):
                handle(.result(id, of: number, .replaced(await connection?.replace(session) ?? false)))
            }
        }
    }

    private func pair(at link: ServiceLink, resuming broadcast: BroadcastID, _ number: Int) async -> State.Result {
        guard let paired = try? await place.withLock({ $0.pairing })?.pairing(at: link, resuming: broadcast) else {
            return .failed(EndReason(.serviceEnded, "\(link.authority) takes no broadcast"))
        }
        var endpoint = paired
        endpoint.hasTunnel = await openTunnel(paired)
        let connection = PublicationConnection(
            endpoint, paired: paired, isSealed: isSealed, core: core, shown: shown, emit: onEvent)
        connections.withLock { $0[number] = connection }
        return .paired(connection.endpoint)
    }

    private func pass(_ event: ServiceEvent, to session: SessionID) {
        switch event {
        case .slowestBitrate(let bitrate): core.perform { $0.note(slowest: bitrate, behind: session) }
        case .candidates(let text):
            guard let fragment = try? TrickleFragment.parse(text) else { return }
            core.perform { $0.add(fragment, to: session) }
        default: break
        }
    }

    private func listen(_ number: Int) {
        guard let connection = connection(number) else { return }
        connection.listen { [core, weak self] in
            var isRefused = false
            do {
                guard let events = try await connection.service.events() else { return }
                self?.handle(.streamOpened(number))
                for try await event in events {
                    self?.handle(.told(number, event))
                    // Events are read no faster than the loop takes them.
                    await core.ifRunning { _ in }
                }
            } catch {
                // Otherwise the connection broke; media may continue without it.
                isRefused = (error as? SignalingError)?.code == .connectionRefused
            }
            self?.handle(.streamEnded(number, isRefused: isRefused))
        }
    }

    private func ask(_ question: Int, _ knock: Knock, _ connection: PublicationConnection?) {
        connection?.ask(question) { [weak self, admission, isSealed] in
            let decision = await admission?.decide(atRelay: knock, isSealed: isSealed) ?? .refused(nil)
            self?.handle(.decided(question, knock.id, decision))
            connection?.forget(question)
        }
    }
}
