package import LinuxRuntime
import MediaCore
package import PeerConnection

/// Runs an async call and blocks the calling thread until it returns. Call it from a command's thread, never from the
/// concurrency pool.
package func blocking<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
    let box = Monitor<Result?>(nil)
    Task.detached {
        let result = await body()
        box.change { $0 = result }
    }
    return box.wait { $0 }
}

/// Runs an async call that may fail, and blocks the calling thread until it returns.
package func blocking<Value: Sendable, Failure: Error>(
    throwing body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
    let result: Result<Value, Failure> = blocking {
        do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
}

/// Runs a call that blocks on a thread of its own, so that it does not hold a thread of the concurrency pool.
package func onThread<Value: Sendable>(_ name: String, _ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in _ = NamedThread(name) { continuation.resume(returning: body()) } }
}

/// Blocks until there is an end, for `seconds` at most.
package func waitForEnd(_ ending: Monitor<EndReason?>, seconds: Double) -> EndReason? {
    guard seconds.isFinite else { return ending.wait { $0 } }
    let limit = MediaDuration(nanoseconds: Int64(max(seconds, 0) * 1e9))
    return ending.wait(until: MonotonicClock.now + limit) { $0 }
}

package func seconds(_ duration: Duration) -> Double {
    duration / .seconds(1)
}

extension EndReason {
    package var status: ExitStatus {
        switch code {
        case .stopped, .hostEnded, .viewerLeft: .fine
        case .refused, .wrongSecret, .removed: .refused
        case .unanswered: .unanswered
        case .untrusted: .untrusted
        case .unreachable, .noRoute: .unreachable
        case .badLink: .badLink
        case .connectionLost, .serviceEnded: .lost
        case .serviceBusy: .serviceBusy
        case .unknownService: .unknownService
        case .sourceGone: .noDisplay
        case .portUnavailable: .portUnavailable
        case .unsupportedCodec: .unsupportedCodec
        case .failed: .failed
        }
    }
}
