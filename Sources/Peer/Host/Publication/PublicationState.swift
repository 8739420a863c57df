import Admission
import Identifiers
import MediaCore
import PeerConnection
import PeerEngine
import Signaling

/// The logic of a publication as a value: offer and answer, the endpoint's STUN and TURN servers, restarts of ICE, the
/// move to another relay of a cluster, the endpoint's questions about viewers, and the end.
///
/// It has one connection, and while it moves at most one more, which replaces the former when it is open. A connection
/// has at most one request in progress. The result of a request returns as an input with the request's number; if that
/// is not the connection's last request, it is ignored, and what it has opened is closed.
struct PublicationState: StateMachine {
    enum Phase {
        case initial
        /// The first connection is being opened.
        case opening
        /// - Parameter isRelayStopping: the relay has asked this host to move, which knows no other relay yet.
        case running(isRelayStopping: Bool)
        case moving(Move)
        case over
    }

    /// The time to wait for the service's reason after the end of the media.
    static let reasonTime = MediaDuration.seconds(1)
    /// A connection that comes about within this time needs no servers.
    static let directTime = MediaDuration.seconds(2)
    /// The pause before the session is offered again to an endpoint that still has the former one.
    static let offerPause = MediaDuration.seconds(2)
    /// The offers that an endpoint may refuse after the one that did not connect.
    private static let offerLimit = 2
    /// The time that a restart of ICE may take before the next one begins.
    static let restartInterval = MediaDuration.seconds(3)
    /// The number of restarts that fail before other relays are tried.
    private static let restartLimit = 2
    /// The time between two attempts to listen to the endpoint's events.
    static let streamInterval = MediaDuration.seconds(1)
    /// The number of refused event streams in a row that means that the service has stopped.
    static let refusalLimit = 2
    /// The time for which other relays are tried, and the pause after each round.
    static let moveTime = MediaDuration.seconds(30)
    static let movePause = MediaDuration.seconds(1)
    /// The most other relays that one can name.
    static let relayLimit = 8
    /// The most viewers that are asked about at a time. A relay asks about fewer.
    static let questionLimit = 64

    /// The service that other relays must have, too; nil: they are not tried.
    let service: ServiceID?
    var phase = Phase.initial
    /// Nil between two connections, and after the end.
    var present: Connection?
    /// The connection to another relay, which replaces the present one when it is open.
    var next: Connection?
    var relays: [ServiceLink] = []
    var broadcast: BroadcastID?
    /// The numbers of the questions about viewers.
    var questions: [KnockID: Int] = [:]
    private var lastNumber = 0

    init(_ endpoint: Endpoint, service: ServiceID?) {
        self.service = service
        present = Connection(number: 0, endpoint: endpoint)
    }

    var presentNumber: Int? { present?.number }

    var isRunning: Bool { if case .running = phase { true } else { false } }
    private var isOver: Bool { if case .over = phase { true } else { false } }
    var hasOtherRelays: Bool { !relays.isEmpty && broadcast != nil }

    var deadline: MediaInstant? {
        let pause: MediaInstant? = if case .moving(let move) = phase { move.pause } else { nil }
        return [present?.due, present?.stream, pause].compactMap(\.self).min()
    }

    private func listens(to number: Int) -> Bool { isRunning && present?.number == number }

    // MARK: Inputs

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch input {
        case .result(let request, let number, let result): return got(result, of: number, request, now)
        case _ where isOver: return []
        case .start:
            guard case .initial = phase else { return [] }
            phase = .opening
            return request(.open, .opening, of: \.present)
        case .told(let number, let event): return listens(to: number) ? heard(event, now) : []
        case .streamOpened(let number): if listens(to: number) { present?.refusals = 0 }
        case .streamEnded(let number, let isRefused):
            return listens(to: number) ? streamEnded(isRefused: isRefused, now) : []
        case .media(let change): return media(change, now)
        case .ended(let session):
            guard case .open(session) = present?.stage else { return [] }
            present?.begin(.closing(session, until: now + Self.reasonTime), request: nil)
        case .decided(let question, let knock, let decision):
            guard questions[knock] == question, let number = present?.number else { return [] }
            questions[knock] = nil
            return [.decide(decision, about: knock, at: number)]
        case .close(let reason): return end(reason, isGone: false)
        }
        return []
    }

    mutating func advance(now: MediaInstant, using generator: inout some RandomNumberGenerator) -> [Action] {
        var actions: [Action] = []
        if let number = present?.number, let stream = present?.stream, now >= stream {
            present?.stream = nil
            actions.append(.listen(number))
        }
        if let due = present?.due, now >= due { actions += advancePresent(now) }
        guard case .moving(var move) = phase, let pause = move.pause, now >= pause else { return actions }
        guard now < move.end else { return actions + end(move.reason, isGone: true) }
        move.pause = nil
        phase = .moving(move)
        return actions + tryRelay(now)
    }

    private mutating func advancePresent(_ now: MediaInstant) -> [Action] {
        guard let present else { return [] }
        switch present.stage {
        case .pausing: return request(.open, .opening, of: \.present)
        case .closing(let session, _):
            self.present?.stage = .ended(session)
            return endPresent(
                EndReason(.serviceEnded, "\(present.endpoint.name) has ended the broadcast, or has gone"), now)
        case .open(let session):
            if case .interrupted = present.media { return restart(now) }
            self.present?.media = .connecting(check: nil)
            return request(.restart(session, .addedUnlessConnected), present.stage, of: \.present)
        default: return []
        }
    }

    // MARK: Requests

    mutating func takeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func request(
        _ request: Request, _ stage: Connection.Stage, of slot: WritableKeyPath<Self, Connection?>
    ) -> [Action] {
        guard let number = self[keyPath: slot]?.number else { return [] }
        let id = takeNumber()
        self[keyPath: slot]?.begin(stage, request: id)
        return [.request(id, of: number, request)]
    }

    private mutating func got(_ result: Result, of number: Int, _ id: Int, _ now: MediaInstant) -> [Action] {
        let slot = present?.number == number ? \Self.present : \Self.next
        guard let connection = self[keyPath: slot], connection.number == number, connection.request == id else {
            return Self.undone(result, of: number)
        }
        self[keyPath: slot]?.request = nil
        switch (result, connection.stage) {
        case (.paired(let endpoint), .pairing):
            self[keyPath: slot]?.endpoint = endpoint
            return request(.open, .opening, of: slot)
        case (.opened(let session, let hasServers), .opening):
            self[keyPath: slot]?.stage = .open(session)
            self[keyPath: slot]?.media = .connecting(check: hasServers ? now + Self.directTime : nil)
            if hasServers { self[keyPath: slot]?.hasUnusedServers = true }
            return opened(number)
        case (.restarted(let result, let usesServers), .open(let session)):
            if usesServers { present?.hasUnusedServers = false }
            return restarted(result, session, now)
        case (.replaced(true), .replacing): return request(.open, .opening, of: slot)
        case (.replaced(false), .replacing(let session)): self[keyPath: slot]?.stage = .open(session)
        case (.failed(let reason), _): return failed(connection, reason, now)
        default: break
        }
        return []
    }

    /// Closes what a request has opened that is not needed any more.
    private static func undone(_ result: Result, of number: Int) -> [Action] {
        switch result {
        case .paired: [.close(number, nil, isGone: true)]
        case .opened(let session, _): [.discard(session)]
        default: []
        }
    }

    private mutating func opened(_ number: Int) -> [Action] {
        switch phase {
        case .opening:
            phase = .running(isRelayStopping: false)
            return [.begin(number)]
        case .moving where next?.number == number:
            let former = close(present, isGone: true)
            (present, next) = (next, nil)
            (relays, broadcast) = ([], nil)
            phase = .running(isRelayStopping: false)
            return [.moved(number)] + former + [.begin(number)]
        default: return []
        }
    }

    /// The offer of a connection was refused, or there is no pairing for it.
    private mutating func failed(_ connection: Connection, _ reason: EndReason, _ now: MediaInstant) -> [Action] {
        if next?.number == connection.number {
            next = nil
            return close(connection, isGone: true) + tryRelay(now)
        }
        if case .opening = phase { return end(reason, isGone: true) }
        guard connection.refusedOffers + 1 < Self.offerLimit else {
            present?.stage = .ended(nil)
            return endPresent(reason, now)
        }
        present?.refusedOffers += 1
        present?.stage = .pausing(until: now + Self.offerPause)
        return []
    }

    // MARK: Media

    private mutating func media(_ change: MediaChange, _ now: MediaInstant) -> [Action] {
        guard let present, case .open = present.stage else { return [] }
        switch (change, present.media) {
        case (.connected, .connecting), (.resumed, .interrupted): self.present?.media = .connected
        case (.interrupted, .connecting), (.interrupted, .connected):
            self.present?.media = .interrupted(restarts: 0, next: nil)
            return restart(now)
        default: break
        }
        return []
    }

    /// Restarts ICE while packets of the service are missing. The session ends 30 s after the last packet.
    private mutating func restart(_ now: MediaInstant) -> [Action] {
        guard let present, case .interrupted(let restarts, _) = present.media, let session = present.session else {
            return []
        }
        if restarts == Self.restartLimit, hasOtherRelays {
            self.present?.media = .interrupted(restarts: restarts, next: nil)
            return endPresent(
                EndReason(.connectionLost, "nothing comes from \(present.endpoint.name) any more"), now)
        }
        self.present?.media = .interrupted(restarts: restarts + 1, next: now + Self.restartInterval)
        let servers: Servers = restarts == 0 && present.hasUnusedServers ? .added : .kept
        return request(.restart(session, servers), present.stage, of: \.present)
    }

    private mutating func restarted(
        _ result: OutageRecovery.AttemptResult, _ session: SessionID, _ now: MediaInstant
    ) -> [Action] {
        guard let present else { return [] }
        switch (present.media, result) {
        case (.connecting, .answered): return []
        // The endpoint takes no restart: the session is opened again, with the servers.
        case (.connecting, _):
            self.present?.refusedOffers = 0
            return request(.replace(session), .replacing(session), of: \.present)
        // A relay that has started anew does not know the service yet.
        case (.interrupted, .gone) where !present.endpoint.isOverRelay:
            self.present?.media = .connected
            return endPresent(
                EndReason(.serviceEnded, "\(present.endpoint.name) does not know this broadcast any more"), now)
        default: return []
        }
    }
}
