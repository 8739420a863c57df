import FoundationEssentials
import Host
import Identifiers
import Identity
import LinuxRuntime
import SessionBus

/// Shows the questions of a prompt as desktop notifications (D-Bus), and knocks with buttons that answer them. Runs on
/// a thread of its own, because the session bus may answer slowly.
final class KnockNotifier: Sendable {
    private struct State {
        /// The question that the desktop should show; nil for none.
        var wanted: Prompt.Question?
        var hasChanged = false
        var hasThread = false
        /// What the desktop shows, or is about to show.
        var shown: Shown?
        weak var prompt: Prompt?
    }

    private struct Shown {
        let id: KnockID
        let buttons: [Button]
        /// When the desktop had shown it; nil before.
        var since: ContinuousClock.Instant?
    }

    private struct Button {
        /// Nobody but this process and the desktop can name it: the question's own identifier comes from the network.
        let key: String
        let label: String
        let answer: Prompt.Answer

        init(_ label: String, _ answer: Prompt.Answer) {
            key = RandomName.random().text
            self.label = label
            self.answer = answer
        }
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

    /// Whether the desktop has shown the question.
    var isShown: Bool { state.with { $0.shown?.since != nil } }

    private func run(_ address: String) {
        var notification: QuestionNotification?
        while true {
            let wanted: Prompt.Question? = state.wait { state in
                guard state.hasChanged else { return nil as Prompt.Question?? }
                state.hasChanged = false
                return .some(state.wanted)
            }
            guard let wanted else {
                state.with { $0.shown = nil }
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
            let isShown = notification.map { show(wanted, in: $0) } ?? false
            if !isShown { notification = nil }
        }
    }

    /// - Returns: false if no desktop has accepted it.
    private func show(_ question: Prompt.Question, in notification: QuestionNotification) -> Bool {
        let buttons = question.kind != .afterLock ? [Button("Accept", .yes), Button("Refuse", .no)] : []
        state.with { $0.shown = Shown(id: question.id, buttons: buttons) }
        let isShown = notification.show(
            summary: "\(question.who) \(question.request)", body: question.notificationBody,
            buttons: buttons.map { .init(key: $0.key, label: $0.label) },
            expires: max(1, Int((question.deadline - .now) / .milliseconds(1))))
        state.with { $0.shown?.since = .now }
        return isShown
    }

    /// A button of the question that is asked now answers it, from a second after the desktop has shown it; those of
    /// others, which came too late, do nothing.
    /// - Parameter instant: when it was pressed.
    func chosen(_ key: String, at instant: ContinuousClock.Instant) {
        let (wanted, shown, prompt) = state.with { ($0.wanted, $0.shown, $0.prompt) }
        guard let wanted, let shown, shown.id == wanted.id, let prompt,
            let button = shown.buttons.first(where: { $0.key == key })
        else { return }
        if let since = shown.since, instant >= since + Prompt.quietTime,
            prompt.answer(wanted.id, button.answer, "in the notification", at: instant)
        {
            return
        }
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
    /// The words to compare come first.
    fileprivate var notificationBody: String {
        guard kind == .knock else { return "Answer in the terminal of share: y or n." }
        return (details.prefix(1) + ["In the terminal of share, y, n or a answers."]).joined(separator: "\n")
    }
}
