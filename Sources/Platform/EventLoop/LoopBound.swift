import LinuxRuntime

/// A value that only its network loop touches, held by other threads.
// SAFETY: `value` is reached only in bodies that run on the loop.
package struct LoopBound<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private let value: Value

    /// - Parameter value: must not be touched outside the loop any more.
    package init(_ loop: EventLoop, _ value: Value) {
        self.loop = loop
        self.value = value
    }

    /// Creates the value on the loop, and waits for it. Must not be called on the loop.
    package init(_ loop: EventLoop, making make: @escaping @Sendable () -> Value) {
        let made = Monitor<Self?>(nil)
        let isAccepted = loop.perform { made.change { $0 = Self(loop, make()) } }
        precondition(isAccepted, "the loop has stopped")
        self = made.wait { $0 }
    }

    /// - Returns: false if the loop has stopped; `body` is then dropped.
    @discardableResult
    package func perform(_ body: @escaping @Sendable (Value) -> Void) -> Bool {
        loop.perform { body(value) }
    }

    /// Calls `body` at once. Must be called on the loop.
    package func assumeIsolated<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        assert(loop.isOnLoop)
        return try body(value)
    }

    /// Runs a body with a completion on the loop, and waits for the completion. Returns at once if the loop has
    /// stopped.
    package func performAndWait(_ body: @escaping @Sendable (Value, @escaping () -> Void) -> Void) async {
        await withCheckedContinuation { continuation in
            if !loop.perform({ body(value) { continuation.resume() } }) { continuation.resume() }
        }
    }

    /// Runs a body that calls back once, on the loop, and waits for that.
    /// - Returns: nil if the loop has stopped.
    package func answer<Answer: Sendable>(
        to question: @escaping @Sendable (Value, @escaping @Sendable (Answer) -> Void) -> Void
    ) async -> Answer? {
        await withCheckedContinuation { continuation in
            let isRunning = loop.perform { question(value) { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    /// Reads an immutable part. May be called from any thread.
    package func read<Part: Sendable>(_ body: (Value) -> Part) -> Part { body(value) }

    /// - Returns: nil if the loop has stopped.
    @discardableResult
    package func ifRunning<Result: Sendable>(_ body: @escaping @Sendable (Value) -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            if !loop.perform({ continuation.resume(returning: body(value)) }) { continuation.resume(returning: nil) }
        }
    }
}
