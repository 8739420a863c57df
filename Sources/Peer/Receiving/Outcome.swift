import LinuxRuntime
package import Transport

/// The reason for the end of a session; the first one settled stays.
package final class Outcome: Sendable {
    package init() {}

    private struct State {
        var reason: EndReason?
        var waiting: [CheckedContinuation<EndReason, Never>] = []
    }
    private let state = Monitor(State())

    package func settle(_ reason: EndReason) {
        let waiting = state.with { state in
            guard state.reason == nil else { return [CheckedContinuation<EndReason, Never>]() }
            state.reason = reason
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: reason) }
    }

    package func wait() async -> EndReason {
        await withCheckedContinuation { continuation in
            let reason = state.with { state in
                if state.reason == nil { state.waiting.append(continuation) }
                return state.reason
            }
            if let reason { continuation.resume(returning: reason) }
        }
    }
}
