import Synchronization

/// Runs an asynchronous action one at a time. Requests that come while it runs are one further run after it. Safe from
/// any thread.
package final class CoalescedAction: Sendable {
    private struct State {
        var isRunning = false
        /// The action runs once more after this run.
        var isRequested = false
        var isStopped = false
    }

    private let action: @Sendable () async -> Void
    private let state = Mutex(State())

    package init(_ action: @escaping @Sendable () async -> Void) { self.action = action }

    /// Requests a run, and does not wait for it.
    package func request() { if begin() { Task { await finish() } } }

    /// Runs the action, also for requests that come meanwhile. Returns at once if it runs already: another run follows
    /// that one.
    package func run() async { if begin() { await finish() } }

    /// Begins no further run. One that goes on is not interrupted.
    package func stop() { state.withLock { $0.isStopped = true } }

    /// - Returns: whether the caller is to run the action.
    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isStopped else { return false }
            defer { if state.isRunning { state.isRequested = true } else { state.isRunning = true } }
            return !state.isRunning
        }
    }

    private func finish() async {
        repeat {
            await action()
        } while state.withLock { state in
            state.isRunning = state.isRequested && !state.isStopped
            state.isRequested = false
            return state.isRunning
        }
    }
}
