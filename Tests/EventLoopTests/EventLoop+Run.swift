import EventLoop

extension EventLoop {
    /// Runs `body` on the loop and waits for its result.
    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            perform { continuation.resume(with: Result { try body() }) }
        }
    }
}
