import LinuxRuntime

/// A value that is settled once, and waited for; the first one stays.
final class Settlement<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiting: [CheckedContinuation<Value, Never>] = []
    }
    private let state = Monitor(State())

    func settle(_ value: Value) {
        let waiting = state.with { state in
            guard state.value == nil else { return [CheckedContinuation<Value, Never>]() }
            state.value = value
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.with { state in
                    if state.value == nil { state.waiting.append(continuation) }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}
