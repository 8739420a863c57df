import Admission
import Identifiers
import Identity
import NIOCore
import Synchronization

/// A table of approvals, and what changes with it in one step.
protocol ApprovalState: Sendable {
    associatedtype Table: ApprovalMachine
    var table: Table { get set }
}

/// The purpose of an ``ApprovalRegistry``: decides about its questions, and performs what only its kind of request has.
protocol ApprovalHandler: Sendable {
    associatedtype State: ApprovalState
    associatedtype Decision: Sendable
    associatedtype Effect: Sendable = Never
    typealias Table = State.Table

    /// Asks a person or a policy. Cancelled when the decision is not needed any more; `withdrawn` follows.
    func decide(_ question: Table.Request.Question) async -> Decision
    /// Changes the state after the decision on a question, which may not be open any more.
    func take(_ decision: Decision, on question: KnockID, _ state: inout State) -> [Table.Action]
    func withdrawn(_ question: KnockID, because reason: KnockWithdrawal) async
    func count(_ outcome: Table.Outcome)
    /// Changes what belongs to the table's effect, in the same step.
    func follow(_ effect: Table.Request.Effect, _ state: inout State) -> [Effect]
    /// Changes what depends on the table, in the same step, after its effects.
    func settle(_ state: inout State) -> [Effect]
    /// Called in order, without the lock.
    func perform(_ effect: Effect)
}

extension ApprovalHandler where Effect == Never {
    func follow(_ effect: Table.Request.Effect, _ state: inout State) -> [Never] { [] }
    func settle(_ state: inout State) -> [Never] { [] }
    func perform(_ effect: Never) {}
}

/// Runs a table of approvals: asks, holds polls, and schedules the table's deadlines. Safe from any thread.
///
/// Bounded by the table's limits.
final class ApprovalRegistry<Handler: ApprovalHandler>: Sendable {
    typealias Table = Handler.Table
    typealias State = Handler.State

    /// A poll that is held, with the timer of its time limit.
    private struct Poll: Sendable {
        let continuation: CheckedContinuation<Table.PollResult, Never>
        let timer: Task<Void, Never>

        func end(_ result: Table.PollResult) {
            timer.cancel()
            continuation.resume(returning: result)
        }
    }

    private struct Running {
        var state: State
        /// Of the open questions; nil until it is asked.
        var decisions: [KnockID: Task<Void, Never>?] = [:]
        var polls: [KnockID: [Int: Poll]] = [:]
        var nextPoll = 0
        var alarm: (deadline: ContinuousClock.Instant, task: Task<Void, Never>)?
    }

    /// An operation that follows from a change. Performed in order, without the lock.
    private enum Operation: Sendable {
        case ask(Table.Request.Question)
        case resume([Poll], Table.PollResult)
        case withdraw(KnockID, KnockWithdrawal, Task<Void, Never>)
        case count(Table.Outcome)
        case effect(Handler.Effect)
    }

    let handler: Handler
    private let pollLimit: Duration
    private let running: Mutex<Running>

    /// - Parameter poll: how long a poll is held.
    init(_ handler: Handler, _ state: State, poll: Duration) {
        self.handler = handler
        pollLimit = poll
        running = Mutex(Running(state: state))
    }

    /// Holds a poll until there is an outcome, the time limit of a poll is over, or its connection closes.
    func wait(_ ticket: KnockID, closed: EventLoopFuture<Void>) async -> Table.PollResult {
        await withCheckedContinuation { continuation in
            let (number, result) = step { running in
                let (result, actions) = running.state.table.beginPoll(ticket, question: .random(), now: .now)
                guard case .waiting = result else { return ((0, result), actions) }
                running.nextPoll += 1
                let number = running.nextPoll
                let timer = self.after(self.pollLimit) { $0.dropped(ticket, poll: number) }
                running.polls[ticket, default: [:]][number] = Poll(continuation: continuation, timer: timer)
                return ((number, result), actions)
            }
            guard case .waiting = result else { return continuation.resume(returning: result) }
            closed.whenComplete { _ in self.dropped(ticket, poll: number) }
        }
    }

    /// Ends a poll without an outcome.
    private func dropped(_ ticket: KnockID, poll number: Int) {
        let poll = step { running in
            guard let poll = running.polls[ticket]?.removeValue(forKey: number) else { return (Poll?.none, []) }
            if running.polls[ticket]?.isEmpty == true { running.polls[ticket] = nil }
            running.state.table.endPoll(ticket, now: .now)
            return (poll, [])
        }
        poll?.end(.waiting)
    }

    /// - Returns: false if there is no such request.
    func withdraw(_ ticket: KnockID) -> Bool {
        change { state in (state.table.isKnown(ticket), state.table.withdraw(ticket, now: .now)) }
    }

    /// Reads or changes what needs no action of the table.
    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { running.withLock { body(&$0.state) } }

    /// Changes the state, and performs what follows from it.
    func change<Value: Sendable>(_ body: (inout State) -> (Value, [Table.Action])) -> Value {
        step { body(&$0.state) }
    }

    private func step<Value: Sendable>(_ body: (inout Running) -> (Value, [Table.Action])) -> Value {
        let (value, following): (Value, [Operation]) = running.withLock { running in
            let (value, actions) = body(&running)
            var following = actions.flatMap { operations(of: $0, &running) }
            following += handler.settle(&running.state).map { .effect($0) }
            setAlarm(&running)
            return (value, following)
        }
        for operation in following { perform(operation) }
        return value
    }

    private func operations(of action: Table.Action, _ running: inout Running) -> [Operation] {
        switch action {
        case .ask(let question):
            running.decisions.updateValue(nil, forKey: question.id)
            return [.ask(question)]
        case .withdraw(let question, let reason):
            // Without a task nobody was asked yet.
            guard let decision = running.decisions.removeValue(forKey: question) ?? nil else { return [] }
            return [.withdraw(question, reason, decision)]
        case .endPolls(let ticket, let result):
            return [.resume(running.polls.removeValue(forKey: ticket).map { Array($0.values) } ?? [], result)]
        case .count(let outcome): return [.count(outcome)]
        case .effect(let effect): return handler.follow(effect, &running.state).map { .effect($0) }
        }
    }

    private func perform(_ operation: Operation) {
        switch operation {
        case .ask(let question): ask(question)
        case .resume(let polls, let result): for poll in polls { poll.end(result) }
        case .withdraw(let question, let reason, let decision):
            decision.cancel()
            Task { [handler] in await handler.withdrawn(question, because: reason) }
        case .count(let outcome): handler.count(outcome)
        case .effect(let effect): handler.perform(effect)
        }
    }

    private func ask(_ question: Table.Request.Question) {
        running.withLock { running in
            // It may be withdrawn meanwhile.
            guard running.decisions.keys.contains(question.id) else { return }
            let decision = Task { [weak self, handler] in
                let decision = await handler.decide(question)
                self?.decided(question.id, decision)
            }
            running.decisions.updateValue(decision, forKey: question.id)
        }
    }

    private func decided(_ question: KnockID, _ decision: Handler.Decision) {
        step { running in
            running.decisions.removeValue(forKey: question)
            return ((), self.handler.take(decision, on: question, &running.state))
        }
    }

    /// Schedules the only timer for the table's next deadline.
    private func setAlarm(_ running: inout Running) {
        let deadline = running.state.table.nextDeadline
        if let alarm = running.alarm, let deadline, alarm.deadline <= deadline { return }
        running.alarm?.task.cancel()
        running.alarm = deadline.map { deadline in
            (deadline, after(deadline - .now) { $0.advance() })
        }
    }

    private func advance() {
        step { running in
            running.alarm = nil
            return ((), running.state.table.advance(now: .now))
        }
    }

    private func after(_ delay: Duration, _ act: @escaping @Sendable (ApprovalRegistry) -> Void) -> Task<Void, Never> {
        Task { [weak self] in
            guard (try? await Task.sleep(for: delay)) != nil, let self else { return }
            act(self)
        }
    }
}
