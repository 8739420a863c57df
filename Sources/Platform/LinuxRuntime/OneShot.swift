internal import Synchronization

/// A value that is set once, and the tasks that wait for it. Safe from any thread.
public final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case empty([CheckedContinuation<Value, Never>])
        case full(Value)
    }
    private let state = Mutex<State>(.empty([]))

    public init() {}

    /// Sets the value and resumes all waiting tasks. Does nothing if a value was set before.
    public func fulfil(_ value: Value) { _ = tryFulfil(value) }

    /// Sets the value and resumes all waiting tasks.
    /// - Returns: false if a value was set before, which stays.
    public func tryFulfil(_ value: Value) -> Bool {
        let waiting: [CheckedContinuation<Value, Never>]? = state.withLock { state in
            guard case .empty(let waiting) = state else { return nil }
            state = .full(value)
            return waiting
        }
        guard let waiting else { return false }
        for continuation in waiting { continuation.resume(returning: value) }
        return true
    }

    /// Returns when it is set.
    public var value: Value {
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
