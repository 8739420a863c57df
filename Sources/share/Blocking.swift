import Foundation
import MediaCore
import PeerRuntime

/// Runs an async call from a command's own thread, which is not one of the concurrency pool's.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
    let box = Monitor<Result?>(nil)
    Task.detached {
        let result = await body()
        box.change { $0 = result }
    }
    return box.wait { $0 }
}

/// Sleeps until there is an end, or for that long.
func waitForEnd(_ ending: Monitor<EndReason?>, seconds: Double) -> EndReason? {
    guard seconds.isFinite else { return ending.wait { $0 } }
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let start = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    return ending.wait(until: MediaInstant(nanoseconds: start + Int64(max(seconds, 0) * 1e9))) { $0 }
}

func seconds(_ duration: Duration) -> Double {
    duration / .seconds(1)
}

extension EndReason {
    var status: ExitStatus {
        switch code {
        case .stopped, .hostEnded, .viewerLeft: .fine
        case .refused, .wrongSecret: .refused
        case .unanswered: .unanswered
        case .untrusted: .untrusted
        case .unreachable, .noRoute: .unreachable
        case .badLink: .badLink
        case .connectionLost: .lost
        case .sourceGone: .noDisplay
        case .portUnavailable: .portUnavailable
        case .failed: .failed
        }
    }
}
