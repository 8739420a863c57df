import Synchronization

/// A value that is set once, and the tasks that wait for it.
final class Promise<Value: Sendable>: Sendable {
    private enum State {
        case empty([CheckedContinuation<Value, Never>])
        case full(Value)
    }
    private let state = Mutex<State>(.empty([]))

    /// Sets the value and resumes all waiting tasks.
    /// - Returns: false if a value was set before, which stays.
    @discardableResult
    func fulfil(_ value: Value) -> Bool {
        let waiting: [CheckedContinuation<Value, Never>]? = state.withLock { state in
            guard case .empty(let waiting) = state else { return nil }
            state = .full(value)
            return waiting
        }
        guard let waiting else { return false }
        for continuation in waiting { continuation.resume(returning: value) }
        return true
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let ready: Value? = state.withLock { state in
                    switch state {
                    case .full(let value): return value
                    case .empty(let waiting):
                        state = .empty(waiting + [continuation])
                        return nil
                    }
                }
                if let ready { continuation.resume(returning: ready) }
            }
        }
    }
}
