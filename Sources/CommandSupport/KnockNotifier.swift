import Foundation
import Host
import Identifiers
import LinuxRuntime
import SessionBus

/// Shows the questions of a prompt as desktop notifications (D-Bus), and knocks with buttons that answer them. Runs on a
/// thread of its own, because the session bus may answer slowly.
final class KnockNotifier: Sendable {
    private struct State {
        /// The question that the desktop should show; nil for none.
        var wanted: Prompt.Question?
        var hasChanged = false
        var hasThread = false
        weak var prompt: Prompt?
    }

    private let address: String?
    private let state = Monitor(State())

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        address = SessionBusAddress.running(in: environment)
    }

    /// Sets the prompt that the buttons answer.
    func answer(_ prompt: Prompt) { state.with { $0.prompt = prompt } }

    /// Shows `question`, or removes the notification if it is nil. Does not block. A later question replaces one that
    /// was not shown yet.
    func show(_ question: Prompt.Question?) {
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
        var notification: QuestionNotification?
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
            if notification == nil {
                notification = QuestionNotification(address: address) { [weak self] key in
                    let instant = ContinuousClock.now
                    // The terminal may take its time.
                    Task { self?.chosen(key, at: instant) }
                }
            }
            let left = max(1, Int((wanted.deadline - .now) / .milliseconds(1)))
            let isShown = notification?.show(
                summary: "\(wanted.who) \(wanted.request)", body: wanted.notificationBody,
                buttons: wanted.buttons.map { .init(key: $0.key, label: $0.label) }, expires: left)
            if isShown != true { notification = nil }
        }
    }

    /// A button of the question that is asked now answers it; those of others, which came too late, do nothing.
    private func chosen(_ key: String, at instant: ContinuousClock.Instant) {
        let (wanted, prompt) = state.with { ($0.wanted, $0.prompt) }
        guard let wanted, let button = wanted.buttons.first(where: { $0.key == key }), let prompt else { return }
        if prompt.answer(wanted.id, button.answer, "in the notification", at: instant) { return }
        // It came too early, and the desktop has removed the notification.
        state.change { state in
            if state.wanted?.id == wanted.id { state.hasChanged = true }
        }
    }
}

extension Prompt {
    /// A prompt whose questions the desktop shows, too.
    package static func withNotifications() -> Prompt {
        let notifier = KnockNotifier()
        let prompt = Prompt(notify: { notifier.show($0) })
        notifier.answer(prompt)
        return prompt
    }
}

extension Prompt.Question {
    /// Each has the question in its key, so that a click on an old notification answers no other one.
    fileprivate var buttons: [(key: String, label: String, answer: Prompt.Answer)] {
        guard kind == .knock else { return [] }
        return [("accept-\(id.text)", "Accept", .yes), ("refuse-\(id.text)", "Refuse", .no)]
    }

    /// The words to compare come first.
    fileprivate var notificationBody: String {
        guard kind == .knock else { return "Answer in the terminal of share: y or n." }
        return (details.prefix(1) + ["In the terminal of share, y, n or a answers."]).joined(separator: "\n")
    }
}
