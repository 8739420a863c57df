package import EventLoop
import LinuxRuntime
import MediaCore
package import PeerEngine
import Synchronization

/// Holds a state machine, has its actions carried out in their order, by one thread at a time, and wakes it at its
/// deadline. Safe from any thread.
package final class StateMachineRunner<State: StateMachine>: Sendable {
    private struct Queue {
        var state: State
        /// Bounded by the inputs that come while one action is carried out.
        var actions: [State.Action] = []
        var isCarryingOut = false
        /// The time that the timer is set to.
        var alarm: MediaInstant?
    }

    private final class Timer {
        var timer: LoopTimer?
        var isClosed = false
    }

    private enum Step {
        case action(State.Action)
        case alarm(MediaInstant?)
    }

    private let queue: Mutex<Queue>
    private let timer: LoopBound<Timer>
    private let usesTask: Bool

    /// - Parameter usesTask: a task carries the actions out, as they take long; else the caller of `handle` does.
    package init(_ state: State, on loop: EventLoop, usesTask: Bool = false) {
        self.usesTask = usesTask
        queue = Mutex(Queue(state: state))
        timer = LoopBound(loop, Timer())
    }

    package func read<Value: Sendable>(_ body: (State) -> Value) -> Value { queue.withLock { body($0.state) } }

    /// Ends the timer.
    package func close() {
        timer.perform { timer in
            timer.isClosed = true
            timer.timer?.close()
        }
    }

    /// Safe from `carryOut`, too: those actions follow then.
    /// - Parameters:
    ///   - input: nil: the deadline has passed.
    ///   - carryOut: called with each action of this input, and with those of others that come meanwhile. It must not
    ///     wait.
    package func handle<Owner: AnyObject & Sendable>(
        _ input: State.Input?, of owner: Owner, carryOut: @escaping @Sendable (Owner, State.Action) -> Void
    ) {
        guard take(input) else { return }
        if usesTask { Task { carryOutAll(of: owner, carryOut) } } else { carryOutAll(of: owner, carryOut) }
    }

    private func carryOutAll<Owner: AnyObject & Sendable>(
        of owner: Owner, _ carryOut: @escaping @Sendable (Owner, State.Action) -> Void
    ) {
        while let step = next() {
            switch step {
            case .action(let action): carryOut(owner, action)
            case .alarm(let instant):
                setTimer(instant) { [weak self, weak owner] in
                    if let self, let owner { handle(nil, of: owner, carryOut: carryOut) }
                }
            }
        }
    }

    /// - Returns: whether the caller carries the actions out.
    private func take(_ input: State.Input?) -> Bool {
        queue.withLock { queue in
            var generator = SystemRandomNumberGenerator()
            let now = MonotonicClock.now
            if let input {
                queue.actions += queue.state.handle(input, now: now, using: &generator)
            } else {
                queue.alarm = nil
                queue.actions += queue.state.advance(now: now, using: &generator)
            }
            defer { queue.isCarryingOut = true }
            return !queue.isCarryingOut
        }
    }

    /// - Returns: nil if all is done; another thread may carry out what comes then.
    private func next() -> Step? {
        queue.withLock { queue in
            if !queue.actions.isEmpty { return .action(queue.actions.removeFirst()) }
            let deadline = queue.state.deadline
            guard deadline == queue.alarm else {
                queue.alarm = deadline
                return .alarm(deadline)
            }
            queue.isCarryingOut = false
            return nil
        }
    }

    private func setTimer(_ instant: MediaInstant?, _ fire: @escaping @Sendable () -> Void) {
        let loop = timer.loop
        timer.perform { timer in
            guard !timer.isClosed else { return }
            if timer.timer == nil { timer.timer = loop.makeTimer(fire) }
            timer.timer?.set(instant)
        }
    }
}
