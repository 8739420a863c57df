import Foundation
import Host
import LinuxRuntime
import SessionBus

/// Shows knocks as desktop notifications (D-Bus). Runs on a thread of its own, because the session bus may answer
/// slowly.
package final class KnockNotifier: Sendable {
    private struct State {
        /// The question that the desktop should show; nil for none.
        var wanted: Prompt.Question?
        var hasChanged = false
        var hasThread = false
    }

    private let address: String?
    private let state = Monitor(State())

    package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        address = SessionBusAddress.running(in: environment)
    }

    /// Shows `question`, or removes the notification if it is nil. Does not block. A later question replaces one that
    /// was not shown yet.
    package func show(_ question: Prompt.Question?) {
        guard let address else { return }
        state.change { state in
            guard state.wanted?.id != question?.id else { return }
            state.wanted = question
            state.hasChanged = true
            guard !state.hasThread else { return }
            state.hasThread = true
            _ = NamedThread("session-bus") { [self] in run(address) }
        }
    }

    private func run(_ address: String) {
        var notification: DesktopNotification?
        while true {
            let wanted: Prompt.Question? = state.wait { state in
                guard state.hasChanged else { return nil as Prompt.Question?? }
                state.hasChanged = false
                return .some(state.wanted)
            }
            guard let wanted else {
                notification?.close()
                continue
            }
            // Connects again for each question, as the user may have logged in to a desktop meanwhile.
            if notification == nil { notification = DesktopNotification(address: address) }
            let left = max(1, Int((wanted.deadline - .now) / .milliseconds(1)))
            let isShown = notification?.show(
                summary: "\(wanted.who) \(wanted.request)",
                body: "Answer in the terminal of share: \(wanted.kind == .knock ? "y, n or a" : "y or n").",
                expires: left)
            if isShown != true { notification = nil }
        }
    }
}
