import Admission
import Identifiers
import Identity

/// Runs a ``KnockTable``: asks the delegate, holds polls, and schedules the table's deadlines.
///
/// Bounded by ``KnockTable/Limits``.
actor KnockRegistry {
    private let delegate: any SignalingServerDelegate
    private let admissions: AdmissionRegistry
    private let pollLimit: Duration
    private let onOutcome: @Sendable (KnockTable.Outcome) -> Void
    private var table: KnockTable
    private var decisions: [KnockID: Task<Void, Never>] = [:]
    private var waiters: [KnockID: [Int: CheckedContinuation<KnockTable.PollResult, Never>]] = [:]
    private var nextWaiter = 0
    private var alarm: (deadline: ContinuousClock.Instant, task: Task<Void, Never>)?

    /// - Parameter poll: how long a poll is held.
    init(
        delegate: any SignalingServerDelegate, admissions: AdmissionRegistry, limits: KnockTable.Limits, poll: Duration,
        onOutcome: @escaping @Sendable (KnockTable.Outcome) -> Void
    ) {
        self.delegate = delegate
        self.admissions = admissions
        self.onOutcome = onOutcome
        pollLimit = poll
        table = KnockTable(limits: limits)
    }

    /// - Parameter ticket: a new random one.
    func open(_ request: KnockTable.Request, ticket: KnockID) -> KnockTable.Opening {
        let (opening, actions) = table.open(request, ticket: ticket, now: .now)
        perform(actions)
        return opening
    }

    func sign(_ ticket: KnockID, _ signature: [UInt8], certificate: [UInt8]?) -> KnockTable.Signing {
        let (signing, actions) = table.sign(
            ticket, signature, certificate: certificate, question: .random(), now: .now
        ) { [admissions] request in admissions.hasRoom(for: request.identity, from: request.address.key) }
        perform(actions)
        return signing
    }

    /// Holds a poll until there is an outcome or the time limit of a poll is over.
    func wait(_ ticket: KnockID, onWaiting: @Sendable (_ waiter: Int) -> Void) async -> KnockTable.PollResult {
        let (result, actions) = table.beginPoll(ticket, question: .random(), now: .now)
        perform(actions)
        guard case .waiting = result else { return result }
        nextWaiter += 1
        let waiter = nextWaiter
        let timer = after(pollLimit) { await $0.dropped(ticket, waiter: waiter) }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            waiters[ticket, default: [:]][waiter] = continuation
            onWaiting(waiter)
        }
    }

    /// Ends a poll without an outcome, because its time is over or its connection has closed.
    func dropped(_ ticket: KnockID, waiter: Int) {
        guard let continuation = waiters[ticket]?.removeValue(forKey: waiter) else { return }
        if waiters[ticket]?.isEmpty == true { waiters[ticket] = nil }
        table.endPoll(ticket, now: .now)
        perform([])
        continuation.resume(returning: .waiting)
    }

    /// - Returns: false if there is no such knock.
    func withdraw(_ ticket: KnockID) -> Bool {
        let isKnown = table.isKnown(ticket)
        perform(table.withdraw(ticket, now: .now))
        return isKnown
    }

    func end() { perform(table.end(now: .now)) }

    private func decided(_ question: KnockID, _ decision: KnockDecision) {
        decisions[question] = nil
        guard let request = table.request(asked: question) else { return }
        let outcome: KnockTable.Outcome
        switch decision {
        case .accepted, .acceptedByRule, .remembered:
            var viewer = Viewer(
                knock: question, name: request.name, kind: request.kind, address: request.address.text,
                fingerprint: request.identity.fingerprint, identity: request.identity, words: request.challenge.words)
            viewer.records = request.records
            viewer.isAdmittedByRule = decision == .acceptedByRule
            viewer.origin = request.origin
            outcome = admissions.admit(viewer, from: request.address.key).map { .accepted(token: $0) } ?? .crowded
        case .refused(let reason): outcome = .refused(reason)
        case .busy(let reason): outcome = .busy(reason)
        case .unanswered: outcome = .unanswered
        }
        perform(table.answer(question, outcome, now: .now))
    }

    private func perform(_ actions: [KnockTable.Action]) {
        for action in actions {
            switch action {
            case .ask(let knock):
                let delegate = delegate
                decisions[knock.id] = Task { [weak self] in
                    let decision = await delegate.decide(knock)
                    await self?.decided(knock.id, decision)
                }
            case .withdraw(let question, let reason):
                decisions.removeValue(forKey: question)?.cancel()
                let delegate = delegate
                Task { await delegate.knockWithdrawn(question, because: reason) }
            case .endPolls(let ticket, let result):
                for continuation in waiters.removeValue(forKey: ticket)?.values ?? [:].values {
                    continuation.resume(returning: result)
                }
            case .count(let outcome): onOutcome(outcome)
            }
        }
        setAlarm()
    }

    /// Schedules the only timer for the table's next deadline.
    private func setAlarm() {
        let deadline = table.nextDeadline
        if let alarm, let deadline, alarm.deadline <= deadline { return }
        alarm?.task.cancel()
        alarm = deadline.map { deadline in
            (deadline, after(deadline - .now) { await $0.advance() })
        }
    }

    private func advance() {
        alarm = nil
        perform(table.advance(now: .now))
    }

    private func after(_ delay: Duration, _ act: @escaping @Sendable (KnockRegistry) async -> Void) -> Task<Void, Never>
    {
        Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil, let self else { return }
            await act(self)
        }
    }
}
