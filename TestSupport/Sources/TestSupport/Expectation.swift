import Synchronization

/// An event that a test waits for, with its own deadline.
public final class Expectation: Sendable {
    struct Late: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var isFulfilled = false
        var hasEnded = false
        var waiting: CheckedContinuation<Bool, Never>?
    }
    private let state = Mutex(State())
    private let name: String

    public init(_ name: String) { self.name = name }

    /// Fulfills the expectation. May be called from any thread; later calls have no effect.
    public func fulfill() { end(fulfilled: true) }

    private func end(fulfilled: Bool) {
        let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
            if state.hasEnded { return nil }
            state.hasEnded = true
            state.isFulfilled = fulfilled
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: fulfilled)
    }

    /// - Throws: if it is not fulfilled in time.
    public func wait(seconds: Int = 30) async throws {
        let deadline = Task {
            if (try? await Task.sleep(for: .seconds(seconds))) != nil { end(fulfilled: false) }
        }
        defer { deadline.cancel() }
        let isFulfilled = await withCheckedContinuation { continuation in
            let ended: Bool? = state.withLock { state in
                if state.hasEnded { return state.isFulfilled }
                state.waiting = continuation
                return nil
            }
            if let ended { continuation.resume(returning: ended) }
        }
        if !isFulfilled { throw Late(description: "\(name) did not come within \(seconds) s") }
    }
}
