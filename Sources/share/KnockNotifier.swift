import Foundation
import PeerRuntime
import SessionBus

/// Tells the desktop that somebody knocks, on a thread of its own: a desktop may take its time.
final class KnockNotifier: Sendable {
    private struct State {
        /// What the desktop should show; nil for nothing.
        var wanted: Prompt.Question?
        var hasChanged = false
        var hasThread = false
    }

    private let address: String?
    private let state = Monitor(State())

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        address = Self.busAddress(environment)
    }

    /// Nil if there is no session bus. None is started.
    static func busAddress(_ environment: [String: String]) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        guard let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty, access(folder + "/bus", F_OK) == 0 else {
            return nil
        }
        return "unix:path=" + folder + "/bus"
    }

    /// Does not block. A later question replaces one that was not told yet.
    func tell(_ question: Prompt.Question?) {
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
            // Again each time: the person may have logged in to a desktop since.
            if notification == nil { notification = DesktopNotification(address: address) }
            let left = max(1, Int((wanted.deadline - .now) / .milliseconds(1)))
            let isShown = notification?.show(
                summary: "\(wanted.who) wants to watch", body: "Answer in the terminal of share: y, n or a.",
                expires: left)
            if isShown != true { notification = nil }
        }
    }
}
