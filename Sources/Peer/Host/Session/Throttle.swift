import LinuxRuntime
package import MediaCore
import Synchronization

/// Passes the newest of several values on: at once if the last one is long enough ago, else as soon as it is. Safe from
/// any thread.
package final class Throttle<Value: Sendable>: Sendable {
    private struct State {
        var newest: Value?
        var next = MediaInstant(nanoseconds: .min)
        var isWaiting = false
    }

    private let state = Mutex(State())
    private let send: @Sendable (Value) -> Void

    package init(_ send: @escaping @Sendable (Value) -> Void) { self.send = send }

    /// - Parameter interval: until the value after this one.
    package func pass(_ value: Value, interval: MediaDuration) {
        let now = MonotonicClock.now
        let wait = state.withLock { state -> MediaDuration? in
            guard !state.isWaiting, now < state.next else {
                if state.isWaiting { state.newest = value } else { state.next = now + interval }
                return state.isWaiting ? .zero : nil
            }
            state.newest = value
            state.isWaiting = true
            return state.next - now
        }
        guard let wait else { return send(value) }
        guard wait > .zero else { return }
        Task {
            try? await Task.sleep(for: .nanoseconds(wait.nanoseconds))
            let newest = state.withLock { state in
                defer {
                    state.newest = nil
                    state.isWaiting = false
                    state.next = MonotonicClock.now + interval
                }
                return state.newest
            }
            if let newest { send(newest) }
        }
    }
}

extension MediaDuration {
    /// Between two reports of how many watch, to all of them: what they cost stays the same however many come and go.
    package static func betweenAudienceReports(viewers: Int) -> MediaDuration {
        viewers <= 16 ? .zero : .milliseconds(max(viewers, 250))
    }
}
