internal import LinuxRuntime

/// A value that changes, for any number of readers. The newest value replaces one that a reader has not read yet.
final class StateChanges<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var lastReader = 0
    }

    private let state: Monitor<State>

    init(_ value: Value) { state = Monitor(State(value: value)) }

    var value: Value { state.with { $0.value } }

    /// The changes, from the current value on.
    var stream: AsyncStream<Value> {
        let (stream, reader) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.with { state in
            state.lastReader += 1
            state.readers[state.lastReader] = reader
            reader.yield(state.value)
            return state.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) { _ = state.with { $0.readers.removeValue(forKey: number) } }

    /// Reads the value anew. Calls from several threads report in the order in which they read.
    func update(_ read: () -> Value) {
        state.with { state in
            let value = read()
            guard value != state.value else { return }
            state.value = value
            for reader in state.readers.values { reader.yield(value) }
        }
    }
}
