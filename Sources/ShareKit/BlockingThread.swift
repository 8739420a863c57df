internal import LinuxRuntime

/// Runs a call that blocks for seconds on a thread of its own.
/// - Returns: nil if no thread is left.
func onThread<Value: Sendable>(_ name: String, _ body: @escaping @Sendable () -> Value) async -> Value? {
    let value = Monitor<Value?>(nil)
    guard
        let thread = try? NamedThread.start(
            name,
            {
                let result = body()
                value.with { $0 = result }
            })
    else { return nil }
    await thread.ended()
    return value.with { $0 }
}
