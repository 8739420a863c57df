import Admission
import HTTP
import Identifiers
import Identity
import Synchronization

/// Runs a ``PairingTable`` and keeps the sessions of a service: asks the delegate, holds polls, schedules the table's
/// deadlines, and ends the event streams of tokens that have ended. Safe from any thread.
///
/// Bounded by ``PairingTable/Limits``.
final class PairingRegistry: Sendable {
    /// A consequence of a change of the state. Performed in order, without the lock.
    private enum Effect: Sendable {
        case resume([Poll], PairingTable.PollResult)
        case withdraw(KnockID, Task<Void, Never>?)
        case close(SessionID, because: PairingTable.SessionEnd)
        case finish(TokenHash, ServiceEvent, pairing: KnockID)
        case count(PairingTable.Outcome)
    }

    static let finalsLimit = 64

    let configuration: ServiceConfiguration
    let delegate: any ServiceDelegate
    private let streams: EventStreams
    private let tunnels: TunnelTable
    private let counters: SignalingCounters
    private let pollLimit: Duration
    let state: Mutex<State>
    let fixed: TokenHash?

    /// - Parameter poll: how long a poll is held.
    init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, streams: EventStreams,
        tunnels: TunnelTable, counters: SignalingCounters, poll: Duration
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.streams = streams
        self.tunnels = tunnels
        self.counters = counters
        pollLimit = poll
        fixed = configuration.fixedToken.map { TokenHash(of: $0) }
        state = Mutex(
            State(
                table: PairingTable(
                    service: configuration.description, secret: configuration.linkSecret,
                    limits: configuration.pairingLimits),
                sessions: SessionTable(capacity: max(64, configuration.sessionCapacity))))
    }

    // MARK: Requests of the host

    /// - Returns: the ticket of the new pairing, valid if the first value is `.opened`.
    func open(_ request: PairingTable.Request) -> (PairingTable.Opening, ticket: KnockID) {
        let ticket = KnockID.random()
        let opening = change { state in
            self.notePlaces(&state)
            return state.table.open(request, ticket: ticket, now: .now)
        }
        return (opening, ticket)
    }

    /// - Parameters:
    ///   - sealed: the setup as it has come over a relay.
    ///   - proof: that the host has the link's secret.
    func sign(
        _ ticket: KnockID, _ signature: [UInt8], setup: [String: String], sealed: [UInt8]? = nil, proof: [UInt8]? = nil
    ) -> PairingTable.Signing {
        change { state in
            self.notePlaces(&state)
            return state.table.sign(
                ticket, signature, setup: setup, sealed: sealed, proof: proof, question: .random(), now: .now)
        }
    }

    /// What the host and this service sign; nil if the pairing is not known.
    func transcript(of ticket: KnockID) -> PairingTranscript? {
        state.withLock { $0.table.request(of: ticket)?.transcript }
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

    /// Ends all pairings and sessions. Later requests are refused.
    func end(_ event: ServiceEvent) {
        if case .finished(let reason, _) = event {
            for session in state.withLock({ $0.sessions.all }) { endTunnel(session, reason: reason) }
        }
        change { state in
            for owner in state.grants.keys { state.setFinal(event, of: owner) }
            return ((), state.table.end(now: .now))
        }
        // Those of WHIP tools with the fixed token.
        for session in state.withLock({ $0.sessions.removeAll() }) { perform(.close(session, because: .ended)) }
    }

    // MARK: Internals

    /// Tells the table which places tools with the fixed token have and, if all are taken, which sessions are idle.
    /// - Parameter replaced: a session whose place another one takes.
    func notePlaces(_ state: inout State, except replaced: SessionID? = nil) {
        state.table.otherPlaces = state.sessions.taken(except: replaced).filter(\.isFixed).map(\.address)
        guard state.table.isFull else {
            state.table.idleSessions = []
            return
        }
        // The viewers of a host that publishes here, too, are not at its tunnel.
        state.table.idleSessions = tunnels.idle(since: .now - configuration.idleTunnelTimeout).filter { session in
            state.sessions[session].map { state.sessions.sessions(of: $0.token) == [session] } ?? false
        }
    }

    private func decided(_ question: KnockID, _ decision: PairingDecision) {
        let token = Base64URL.encode(randomBytes(32))
        change { state in
            state.decisions[question] = nil
            guard let request = state.table.request(asked: question) else { return ((), []) }
            self.notePlaces(&state)
            let actions = state.table.decide(
                question, decision, token: token, broadcastURL: self.configuration.broadcastURL, now: .now)
            if state.table.pairing(token: token) != nil {
                state.grants[TokenHash(of: token)] = Grant(
                    token: token, request: request, isTrusted: request.hasLinkSecret || decision == .accepted)
            }
            return ((), actions)
        }
    }

    /// Changes the state, and performs what follows from it.
    func change<Value: Sendable>(_ body: (inout State) -> (Value, [PairingTable.Action])) -> Value {
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
                if let owner = state.sessions.remove(session)?.token {
                    state.setFinal(reason.event(configuration), of: owner)
                }
                effects.append(.close(session, because: reason))
            case .count(let outcome): effects.append(.count(outcome))
            }
        }
        for (owner, grant) in state.grants where state.table.pairing(token: grant.token) == nil {
            state.grants[owner] = nil
            let unused = ServiceEvent.finished(
                reason: "no media came within \(configuration.lease.components.seconds) s", nextStep: nil)
            state.setFinal(unused, of: owner)
            // The publication of a host that had a tunnel has no lease of its own.
            for session in state.sessions.sessions(of: owner) where state.publications.remove(session) != nil {
                _ = state.sessions.remove(session)
                effects.append(.close(session, because: .ended))
            }
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
        case .close(let session, let reason):
            switch reason {
            case .replaced: endTunnel(session, reason: "the same certificate was paired anew", isReplaced: true)
            case .displaced: endTunnel(session, reason: PairingTable.SessionEnd.displacedText)
            case .idle: endTunnel(session, reason: PairingTable.SessionEnd.idleText)
            case .silent, .left, .ended: endTunnel(session, reason: "the host has gone")
            }
            Task { await delegate.closeSession(session) }
        case .finish(let owner, let event, let pairing):
            streams.finish(owner, event)
            Task { await delegate.pairingEnded(pairing) }
        case .count(let outcome): counters.count(outcome)
        }
    }

    /// Ends the tunnel for which a session stands, if it is such a session.
    func endTunnel(_ session: SessionID, reason: String, isReplaced: Bool = false) {
        tunnels.end(session, reason: reason, isReplaced: isReplaced)
    }

    func isTunnel(_ session: SessionID) -> Bool { tunnels.has(session) }

    /// Ends the streams of events of a token that stays valid.
    func finishStreams(of owner: TokenHash, _ event: ServiceEvent) { streams.finish(owner, event) }

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

    private func after(_ delay: Duration, _ act: @escaping @Sendable (PairingRegistry) -> Void) -> Task<Void, Never> {
        Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil, let self else { return }
            act(self)
        }
    }
}

extension PairingTable.SessionEnd {
    fileprivate static let displacedText = "all places are taken, and your address has more of them than others"
    fileprivate static let idleText = "all places are taken, and nobody came to this one for some time"

    fileprivate func event(_ configuration: ServiceConfiguration) -> ServiceEvent {
        switch self {
        case .silent:
            .finished(
                reason: "no media came for \(configuration.mediaTimeout.components.seconds) s", nextStep: nil)
        case .left: .left
        case .replaced: .finished(reason: "the same host broadcasts anew", nextStep: nil)
        case .displaced: .finished(reason: Self.displacedText, nextStep: nil)
        case .idle: .finished(reason: Self.idleText, nextStep: nil)
        case .ended: .finished(reason: "the service has stopped", nextStep: nil)
        }
    }
}
