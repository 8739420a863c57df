import Admission
import Synchronization

/// Runs a ``PairingTable`` and keeps the sessions of a service: asks the delegate, holds polls, schedules the table's
/// deadlines, and ends the event streams of tokens that have ended. Safe from any thread.
///
/// Bounded by ``PairingTable/Limits``.
final class PairingRegister: Sendable {
    /// A poll that is held, with the timer of its time limit.
    struct Poll: Sendable {
        let continuation: CheckedContinuation<PairingTable.PollResult, Never>
        let timer: Task<Void, Never>

        func end(_ result: PairingTable.PollResult) {
            timer.cancel()
            continuation.resume(returning: result)
        }
    }

    struct State {
        var table: PairingTable
        var sessions: SessionTable
        /// The granted tokens that have not ended.
        var grants: [TokenHash: Grant] = [:]
        /// The final events of tokens that have ended, as text, for streams that open later.
        var finals: [(owner: TokenHash, event: ServiceEvent)] = []
        var decisions: [KnockID: Task<Void, Never>] = [:]
        var polls: [KnockID: [Int: Poll]] = [:]
        var nextPoll = 0
        var alarm: (deadline: ContinuousClock.Instant, task: Task<Void, Never>)?

        /// Sessions of WHIP tools with the fixed token, with those that are being opened.
        var fixedCount: Int { sessions.taken.count { $0.isFixed } }

        mutating func setFinal(_ event: ServiceEvent, of owner: TokenHash) {
            guard !finals.contains(where: { $0.owner == owner }) else { return }
            if finals.count >= PairingRegister.finalsLimit { finals.removeFirst() }
            finals.append((owner, event))
        }
    }

    struct Grant: Sendable {
        let token: String
        let request: PairingRequest
    }

    /// What follows from a change of the state. Performed in order, without the lock.
    private enum Effect: Sendable {
        case resume([Poll], PairingTable.PollResult)
        case withdraw(KnockID, Task<Void, Never>?)
        case close(SessionID)
        case finish(TokenHash, ServiceEvent, pairing: KnockID)
        case count(PairingTable.Outcome)
    }

    static let finalsLimit = 64

    let configuration: ServiceConfiguration
    private let delegate: any ServiceDelegate
    private let streams: EventStreams
    private let counters: SignalingCounters
    private let pollLimit: Duration
    private let state: Mutex<State>
    private let fixed: TokenHash?

    /// - Parameter poll: how long a poll is held.
    init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, streams: EventStreams,
        counters: SignalingCounters, poll: Duration
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.streams = streams
        self.counters = counters
        pollLimit = poll
        fixed = configuration.fixedToken.map { TokenHash(of: $0) }
        state = Mutex(
            State(
                table: PairingTable(service: configuration.description, limits: configuration.pairingLimits),
                sessions: SessionTable(capacity: max(64, configuration.sessionCapacity))))
    }

    // MARK: Requests of the host

    /// - Returns: the ticket of the new pairing, valid if the first value is `.opened`.
    func open(_ request: PairingTable.Request) -> (PairingTable.Opening, ticket: KnockID) {
        let ticket = KnockID.random()
        let opening = change { state in
            guard state.table.broadcastCount + state.fixedCount < self.configuration.sessionCapacity else {
                return (PairingTable.Opening.busy, [])
            }
            return state.table.open(request, ticket: ticket, now: .now)
        }
        return (opening, ticket)
    }

    func sign(_ ticket: KnockID, _ signature: [UInt8], setup: [String: String]) -> PairingTable.Signing {
        change { $0.table.sign(ticket, signature, setup: setup, question: .random(), now: .now) }
    }

    /// Holds a poll until there is an outcome or the time limit of a poll is over.
    func wait(_ ticket: KnockID, onWaiting: @Sendable (_ poll: Int) -> Void) async -> PairingTable.PollResult {
        await withCheckedContinuation { continuation in
            let (number, result) = change { state in
                let result = state.table.beginPoll(ticket, now: .now)
                guard case .waiting = result else { return ((0, result), []) }
                state.nextPoll += 1
                let number = state.nextPoll
                let timer = self.after(self.pollLimit) { $0.dropped(ticket, poll: number) }
                state.polls[ticket, default: [:]][number] = Poll(continuation: continuation, timer: timer)
                return ((number, result), [])
            }
            if case .waiting = result { onWaiting(number) } else { continuation.resume(returning: result) }
        }
    }

    /// Ends a poll without an outcome, because its time is over or its connection has closed.
    func dropped(_ ticket: KnockID, poll number: Int) {
        let poll = change { state in
            guard let poll = state.polls[ticket]?.removeValue(forKey: number) else { return (Poll?.none, []) }
            if state.polls[ticket]?.isEmpty == true { state.polls[ticket] = nil }
            state.table.endPoll(ticket, now: .now)
            return (poll, [])
        }
        poll?.end(.waiting)
    }

    /// - Returns: false if there is no such pairing.
    func withdraw(_ ticket: KnockID) -> Bool {
        change { state in
            let isKnown = state.table.isKnown(ticket)
            return (isKnown, state.table.withdraw(ticket, now: .now))
        }
    }

    // MARK: Tokens and sessions

    enum Admission: Sendable {
        case paired(PairingRequest, token: String)
        /// The service's fixed token, which is valid for every certificate.
        case fixed
        /// The token has ended, with this event.
        case ended(ServiceEvent)

        var isValid: Bool {
            if case .ended = self { false } else { true }
        }
    }

    func admission(token: String) -> (owner: TokenHash, Admission)? {
        let owner = TokenHash(of: token)
        if let fixed, fixed == owner { return (owner, .fixed) }
        return state.withLock { state in
            if let grant = state.grants[owner] { return (owner, .paired(grant.request, token: token)) }
            return state.finals.first { $0.owner == owner }.map { (owner, .ended($0.event)) }
        }
    }

    /// A session's place, and the token of its pairing; nil with the fixed token.
    struct Reservation: Sendable {
        fileprivate let place: SessionTable.Reservation
        fileprivate let token: String?
    }

    enum Reserving: Sendable {
        case reserved(Reservation)
        case otherCertificate
        /// The token has a session.
        case taken
        case ended
        /// There is no room for another session with the fixed token.
        case full
    }

    /// Reserves the place of a session. Call it before the delegate is asked.
    /// - Parameter token: of a pairing; nil for the fixed token.
    func reserve(_ owner: SessionTable.Owner, token: String?) -> Reserving {
        change { state in
            guard let token else {
                let taken = state.sessions.taken
                let limits = AdmissionRegister.SessionLimits(all: self.configuration.sessionCapacity)
                guard state.table.broadcastCount + state.fixedCount < limits.all,
                    limits.hasRoomForFixed(owner, taken)
                else { return (.full, []) }
                return (.reserved(Reservation(place: state.sessions.reserve(owner), token: nil)), [])
            }
            switch state.table.beginSession(token: token, fingerprint: owner.fingerprint, now: .now) {
            case .opening: return (.reserved(Reservation(place: state.sessions.reserve(owner), token: token)), [])
            case .unknownToken: return (.ended, [])
            case .otherCertificate: return (.otherCertificate, [])
            case .taken: return (.taken, [])
            }
        }
    }

    func mediaReceived(_ session: SessionID) {
        state.withLock { $0.table.mediaReceived(session, now: .now) }
    }

    /// Ends a session with an event of the service's own, and its token with it. The delegate has closed the session,
    /// or closes it itself.
    func finish(_ session: SessionID, _ event: ServiceEvent) {
        change { state in
            if let owner = state.sessions[session]?.place, !owner.isFixed { state.setFinal(event, of: owner.token) }
            _ = state.sessions.end(session)
            return ((), state.table.sessionEnded(session, now: .now))
        }
    }

    /// Ends all pairings and sessions. Later requests are refused.
    func end(_ event: ServiceEvent) {
        change { state in
            for owner in state.grants.keys { state.setFinal(event, of: owner) }
            return ((), state.table.end(now: .now))
        }
        // Those of WHIP tools with the fixed token.
        for session in state.withLock({ $0.sessions.removeAll() }) { perform(.close(session)) }
    }

    /// The final event of a token that has ended.
    func final(of owner: TokenHash) -> ServiceEvent? {
        state.withLock { state in state.finals.first { $0.owner == owner }?.event }
    }

    func sessions(of owner: TokenHash) -> [SessionID] { state.withLock { $0.sessions.sessions(of: owner) } }

    func lasting(of owner: TokenHash) -> [String] {
        state.withLock { state in state.sessions.sessions(of: owner).flatMap { state.sessions.lasting(of: $0) } }
    }

    // MARK: Internals

    private func decided(_ question: KnockID, _ decision: PairingDecision) {
        let token = Base64URL.encode(randomBytes(32))
        change { state in
            state.decisions[question] = nil
            guard let request = state.table.request(asked: question) else { return ((), []) }
            let isFull = state.table.broadcastCount + state.fixedCount >= self.configuration.sessionCapacity
            let actions = state.table.decide(
                question, isFull && decision == .accepted ? .busy : decision, token: token,
                broadcastURL: self.configuration.broadcastURL, now: .now)
            if state.table.pairing(token: token) != nil {
                state.grants[TokenHash(of: token)] = Grant(token: token, request: request)
            }
            return ((), actions)
        }
    }

    /// Changes the state, and performs what follows from it.
    private func change<Value: Sendable>(_ body: (inout State) -> (Value, [PairingTable.Action])) -> Value {
        let (value, following): (Value, [Effect]) = state.withLock { state in
            let (value, actions) = body(&state)
            let following = effects(of: actions, &state)
            setAlarm(&state)
            return (value, following)
        }
        for effect in following { perform(effect) }
        return value
    }

    private func effects(of actions: [PairingTable.Action], _ state: inout State) -> [Effect] {
        var effects: [Effect] = []
        for action in actions {
            switch action {
            case .ask(let request):
                let delegate = delegate
                state.decisions[request.id] = Task { [weak self] in
                    let decision = await delegate.decide(request)
                    self?.decided(request.id, decision)
                }
            case .withdraw(let question, _):
                effects.append(.withdraw(question, state.decisions.removeValue(forKey: question)))
            case .endPolls(let ticket, let result):
                let polls = state.polls.removeValue(forKey: ticket).map { Array($0.values) } ?? []
                effects.append(.resume(polls, result))
            case .endSession(let session, let reason):
                if let owner = state.sessions.remove(session)?.owner {
                    state.setFinal(reason.event(configuration), of: owner)
                }
                effects.append(.close(session))
            case .count(let outcome): effects.append(.count(outcome))
            }
        }
        for (owner, grant) in state.grants where state.table.pairing(token: grant.token) == nil {
            state.grants[owner] = nil
            let unused = ServiceEvent.finished(
                reason: "no media came within \(configuration.lease.components.seconds) s", nextStep: nil)
            state.setFinal(unused, of: owner)
            let final = state.finals.first { $0.owner == owner }?.event ?? unused
            effects.append(.finish(owner, final, pairing: grant.request.id))
        }
        return effects
    }

    private func perform(_ effect: Effect) {
        let delegate = delegate
        switch effect {
        case .resume(let polls, let result): for poll in polls { poll.end(result) }
        case .withdraw(let question, let decision):
            decision?.cancel()
            Task { await delegate.pairingWithdrawn(question) }
        case .close(let session): Task { await delegate.closeSession(session) }
        case .finish(let owner, let event, let pairing):
            streams.finish(owner, event)
            Task { await delegate.pairingEnded(pairing) }
        case .count(let outcome): counters.count(outcome)
        }
    }

    /// Schedules the only timer for the table's next deadline.
    private func setAlarm(_ state: inout State) {
        let deadline = state.table.nextDeadline
        if let alarm = state.alarm, let deadline, alarm.deadline <= deadline { return }
        state.alarm?.task.cancel()
        state.alarm = deadline.map { deadline in (deadline, after(deadline - .now) { $0.advance() }) }
    }

    private func advance() {
        change { state in
            state.alarm = nil
            return ((), state.table.advance(now: .now))
        }
    }

    private func after(_ delay: Duration, _ act: @escaping @Sendable (PairingRegister) -> Void) -> Task<Void, Never> {
        Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil, let self else { return }
            act(self)
        }
    }
}

extension PairingRegister: SessionRegister {
    func session(_ id: SessionID) -> SessionTable.Session? { state.withLock { $0.sessions[id] } }

    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool {
        change { state in
            let addition = state.sessions.add(session, reservation.place)
            guard let token = reservation.token else {
                if case .added = addition { return (true, []) }
                return (false, [])
            }
            guard state.table.sessionOpened(token: token, session.id, now: .now) else {
                _ = state.sessions.remove(session.id)
                return (false, [])
            }
            if case .added = addition { return (true, []) }
            return (false, state.table.sessionEnded(session.id, now: .now))
        }
    }

    func release(_ reservation: Reservation) {
        change { state in
            _ = state.sessions.release(reservation.place)
            if let token = reservation.token { state.table.sessionFailed(token: token) }
            return ((), [])
        }
    }

    func rename(_ id: SessionID, etag: String) { state.withLock { $0.sessions.rename(id, etag: etag) } }

    @discardableResult
    func remove(_ id: SessionID) -> Bool {
        change { state in
            guard let owner = state.sessions.remove(id)?.place else { return (false, []) }
            if !owner.isFixed { state.setFinal(.left, of: owner.token) }
            return (true, state.table.sessionEnded(id, now: .now))
        }
    }

    func end(_ id: SessionID) { finish(id, .finished(reason: "the service ended the broadcast", nextStep: nil)) }

    func keep(_ event: some StreamEvent, of id: SessionID) -> TokenHash? {
        state.withLock { $0.sessions.keep(event, of: id) }
    }

    func lasting(of id: SessionID) -> [String] { state.withLock { $0.sessions.lasting(of: id) } }
}

extension ServiceEvent {
    fileprivate static let left = ServiceEvent.finished(reason: "the host has left", nextStep: nil)
}

extension PairingTable.SessionEnd {
    fileprivate func event(_ configuration: ServiceConfiguration) -> ServiceEvent {
        switch self {
        case .silent:
            .finished(
                reason: "no media came for \(configuration.mediaTimeout.components.seconds) s", nextStep: nil)
        case .left: .left
        case .replaced: .finished(reason: "the same host broadcasts anew", nextStep: nil)
        case .ended: .finished(reason: "the service has stopped", nextStep: nil)
        }
    }
}
