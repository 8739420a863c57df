import EventLoop
import LinuxRuntime
import MediaCore
import TestSupport

extension EventLoop {
    /// Runs `body` on the loop and waits for its result.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            perform { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Polls the condition each 10 ms, on the loop.
    func until(_ condition: @escaping @Sendable () -> Bool) async throws {
        let done = Expectation("the condition")
        perform { [self] in
            nonisolated(unsafe) var timer: LoopTimer?
            timer = makeTimer {
                if condition() {
                    done.fulfill()
                    timer?.close()
                    timer = nil
                } else {
                    timer?.set(MonotonicClock.now + .milliseconds(10))
                }
            }
            timer?.set(MonotonicClock.now)
        }
        try await done.wait()
    }
}
