import LinuxRuntime
import Synchronization

/// Has admitted viewers wait until the relay has their broadcast, if it alone sends to them. Safe from any thread.
package final class AdmissionGate: Sendable {
    private struct State {
        var isOpen = false
        /// Those who wait, by their numbers.
        var waiting: [Int: OneShot<Bool>] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    package init() {}

    func set(isOpen: Bool) {
        let waiting = state.withLock { state in
            state.isOpen = isOpen
            return isOpen ? Array(state.waiting.values) : []
        }
        for turn in waiting { turn.fulfil(true) }
    }

    /// - Returns: false if it has not been opened within `limit`, or the task is cancelled.
    func pass(within limit: Duration) async -> Bool {
        let turn = OneShot<Bool>()
        let number: Int? = state.withLock { state in
            if state.isOpen { return nil }
            state.count += 1
            state.waiting[state.count] = turn
            return state.count
        }
        guard let number else { return true }
        defer { state.withLock { $0.waiting[number] = nil } }
        let timer = Task {
            try? await Task.sleep(for: limit)
            turn.fulfil(false)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await turn.value
        } onCancel: {
            turn.fulfil(false)
        }
    }
}
