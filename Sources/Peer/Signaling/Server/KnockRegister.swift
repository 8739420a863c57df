/// Knocks that wait for an answer, and for a while those that have one.
///
/// Bounded: `capacity` knocks wait at a time, one per certificate; more are refused.
actor KnockRegister {
    enum Outcome: Sendable, Equatable {
        case accepted(token: String)
        case refused(String?)
        case unanswered
        case ended
        case withdrawn
    }

    enum Opening: Sendable, Equatable {
        case opened(KnockID)
        /// The same certificate is waiting already.
        case waiting(KnockID)
        case refusedBefore(String?)
        case full
        case ended
    }

    enum Look: Sendable, Equatable {
        case waiting
        case outcome(Outcome)
        case unknown
    }

    struct Timeouts: Sendable {
        /// Until a knock counts as unanswered.
        var answer: Duration = .seconds(60)
        /// How long a poll is held.
        var poll: Duration = .seconds(20)
        /// Until a knock that nobody polls is withdrawn.
        var abandoned: Duration = .seconds(10)
        /// How long an outcome can be asked for, and a refusal is remembered.
        var kept: Duration = .seconds(60)
    }

    private struct Entry {
        let knock: Knock
        var outcome: Outcome?
        var waiters: [Int: CheckedContinuation<Look, Never>] = [:]
        var decision: Task<Void, Never>?
        var deadline: Task<Void, Never>?
        var abandonment: Task<Void, Never>?
    }

    private let desk: any BroadcastDesk
    private let admissions: AdmissionBook
    private let capacity: Int
    private let timeouts: Timeouts
    private let onOutcome: @Sendable (Outcome) -> Void
    private var entries: [KnockID: Entry] = [:]
    private var nextWaiter = 0
    private var hasEnded = false

    init(
        desk: any BroadcastDesk, admissions: AdmissionBook, capacity: Int, timeouts: Timeouts,
        onOutcome: @escaping @Sendable (Outcome) -> Void
    ) {
        self.desk = desk
        self.admissions = admissions
        self.capacity = capacity
        self.timeouts = timeouts
        self.onOutcome = onOutcome
    }

    var waitingCount: Int { entries.values.count { $0.outcome == nil } }

    func open(_ knock: Knock) -> Opening {
        guard !hasEnded else { return .ended }
        for entry in entries.values where entry.knock.fingerprint == knock.fingerprint {
            switch entry.outcome {
            case nil: return .waiting(entry.knock.id)
            case .refused(let reason): return .refusedBefore(reason)
            default: continue
            }
        }
        guard waitingCount < capacity, entries.count < 64 * capacity else { return .full }
        var entry = Entry(knock: knock)
        let desk = desk
        entry.decision = Task { [weak self] in
            let decision = await desk.decide(knock)
            await self?.decided(knock.id, decision)
        }
        entry.deadline = after(timeouts.answer) { await $0.expire(knock.id) }
        entries[knock.id] = entry
        watch(knock.id)
        return .opened(knock.id)
    }

    /// Waits until there is an outcome or the poll's time is over.
    func wait(_ id: KnockID, onWaiting: @Sendable (_ waiter: Int) -> Void) async -> Look {
        guard let entry = entries[id] else { return .unknown }
        if let outcome = entry.outcome { return .outcome(outcome) }
        nextWaiter += 1
        let waiter = nextWaiter
        let timer = after(timeouts.poll) { await $0.release(id, waiter, .waiting) }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            entries[id]?.waiters[waiter] = continuation
            entries[id]?.abandonment?.cancel()
            onWaiting(waiter)
        }
    }

    /// The connection of a poll has gone.
    func dropped(_ id: KnockID, waiter: Int) { release(id, waiter, .waiting) }

    func withdraw(_ id: KnockID, because reason: KnockWithdrawal = .left) {
        guard let entry = entries[id], entry.outcome == nil else { return }
        entry.decision?.cancel()
        finish(id, reason == .ended ? .ended : .withdrawn)
        let desk = desk
        Task { await desk.knockWithdrawn(id, because: reason) }
    }

    func end() {
        hasEnded = true
        for id in entries.keys { withdraw(id, because: .ended) }
    }

    private func decided(_ id: KnockID, _ decision: KnockDecision) {
        guard let entry = entries[id], entry.outcome == nil else { return }
        let knock = entry.knock
        switch decision {
        case .accepted:
            let viewer = Viewer(
                knock: id, name: knock.name, kind: knock.kind, address: knock.address, fingerprint: knock.fingerprint)
            finish(id, .accepted(token: admissions.admit(viewer)))
        case .refused(let reason): finish(id, .refused(reason))
        case .unanswered: finish(id, .unanswered)
        }
    }

    private func expire(_ id: KnockID) {
        guard let entry = entries[id], entry.outcome == nil else { return }
        entry.decision?.cancel()
        finish(id, .unanswered)
        let desk = desk
        Task { await desk.knockWithdrawn(id, because: .unanswered) }
    }

    private func finish(_ id: KnockID, _ outcome: Outcome) {
        guard var entry = entries[id] else { return }
        let waiters = entry.waiters
        entry.waiters = [:]
        entry.outcome = outcome
        entry.deadline?.cancel()
        entry.abandonment?.cancel()
        entry.decision = nil
        entry.deadline = after(timeouts.kept) { await $0.forget(id) }
        entries[id] = entry
        onOutcome(outcome)
        for waiter in waiters.values { waiter.resume(returning: .outcome(outcome)) }
    }

    private func release(_ id: KnockID, _ waiter: Int, _ look: Look) {
        guard let continuation = entries[id]?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: look)
        if entries[id]?.waiters.isEmpty == true { watch(id) }
    }

    /// Starts the clock of a knock that nobody polls.
    private func watch(_ id: KnockID) {
        entries[id]?.abandonment?.cancel()
        entries[id]?.abandonment = after(timeouts.abandoned) { await $0.abandon(id) }
    }

    private func abandon(_ id: KnockID) {
        guard let entry = entries[id], entry.waiters.isEmpty else { return }
        withdraw(id)
    }

    private func forget(_ id: KnockID) { entries[id] = nil }

    private func after(_ delay: Duration, _ act: @escaping @Sendable (KnockRegister) async -> Void) -> Task<Void, Never>
    {
        Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil, let self else { return }
            await act(self)
        }
    }
}
