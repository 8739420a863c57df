import CommandSupport
import LinuxRuntime
import MediaCore
import PeerConnection

/// When a relay has to end: at a signal, or when its time is over. Safe from any thread.
final class RelayEnding: Sendable {
    private struct State {
        var reason: EndReason?
        /// The signal was SIGTERM.
        var drains = false
        var isHurried = false
    }

    private let state = Monitor(State())

    /// Takes the signals of the process. A second signal ends a drain: publishers and viewers are told that the relay
    /// stops, which an exit would not tell.
    init() {
        Signals.handle(again: { [state] _ in state.change { $0.isHurried = true } }) { [state] name in
            state.change {
                $0.drains = name == "SIGTERM"
                $0.reason = $0.reason ?? EndReason(.stopped, "ended by \(name)")
            }
        }
    }

    /// Wakes the waits, as a reported event may end a drain.
    func noteEvent() { state.change { _ in } }

    var drains: Bool { state.with { $0.drains } }

    /// Blocks until a signal comes, or the time is over.
    /// - Parameter time: nil: without a limit.
    func wait(for time: Timespan?) -> EndReason {
        guard let time else { return state.wait { $0.reason } }
        return state.wait(until: Self.deadline(time)) { $0.reason }
            ?? state.change {
                let reason = $0.reason ?? EndReason(.stopped, "the time is over")
                $0.reason = reason
                return reason
            }
    }

    /// Blocks until the condition holds, a second signal comes, or the time is over.
    func wait(for time: Timespan, until isOver: () -> Bool) {
        _ = state.wait(until: Self.deadline(time)) { isOver() || $0.isHurried ? () : nil }
    }

    private static func deadline(_ time: Timespan) -> MediaInstant {
        MonotonicClock.now + MediaDuration(nanoseconds: Int64(time.seconds * 1e9))
    }
}
