public import LinuxRuntime
import MediaCore

/// Waits for 30 s at most, on a thread of its own.
/// - Parameter body: the result that was waited for; nil: not yet.
/// - Returns: nil if it did not come.
@discardableResult
public func waiting<Value: Sendable, Result: Sendable>(
    _ monitor: Monitor<Value>, _ body: @escaping @Sendable (Value) -> Result?
) async -> Result? {
    await withCheckedContinuation { continuation in
        _ = NamedThread("wait") {
            continuation.resume(returning: monitor.wait(until: MonotonicClock.now + .seconds(30)) { body($0) })
        }
    }
}
