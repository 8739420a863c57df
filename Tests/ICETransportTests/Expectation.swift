import ICETransport
import MediaCore
import Synchronization

/// Something that a test waits for, with a deadline of its own.
final class Expectation: Sendable {
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

    init(_ name: String) { self.name = name }

    func fulfill() { end(fulfilled: true) }

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

    /// Waits on a timer of `loop`, so that a loop that hangs hangs the test, which is what it should do.
    func wait(on loop: NetworkLoop, seconds: Int = 10) async throws {
        loop.perform { [self] in
            nonisolated(unsafe) var timer: LoopTimer?
            timer = loop.makeTimer {
                timer?.close()
                timer = nil
                self.end(fulfilled: false)
            }
            timer?.set(NetworkLoop.now() + .seconds(seconds))
        }
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

extension NetworkLoop {
    /// Runs `body` on the loop and waits for its result.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            perform { continuation.resume(with: Result { try body() }) }
        }
    }
}
