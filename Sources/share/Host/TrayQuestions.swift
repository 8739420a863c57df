import CommandSupport
import LinuxRuntime
import SessionBus

/// Wishes of viewers that the host's user can answer in the tray, beside the terminal, a notification or a window. Safe
/// from any thread.
final class TrayQuestions: Sendable {
    struct Question: Equatable {
        let number: Int
        /// `"Ann" wants to point at the picture`.
        let text: String
    }

    private enum Choice: Int {
        /// The submenu itself.
        case none
        case allow
        case refuse
    }

    private struct Open {
        let question: Question
        let continuation: CheckedContinuation<Bool?, Never>
        /// When the tray was told of it; nil: it was not yet.
        var shown: ContinuousClock.Instant?
    }

    private struct State {
        var open: [Open] = []
        var lastNumber = 0
        /// A tray shows the menu.
        var hasTray = false
        var onChange: (@Sendable () -> Void)?
    }

    /// Item numbers from here on, below those of `ViewerChoice`. They are used again after so many questions.
    private static let (first, slots) = (100, 200)

    private let state = Monitor(State())

    /// Sets what is called when the questions are others; nil: nothing. Must not block.
    func onChange(_ handler: (@Sendable () -> Void)?) { state.with { $0.onChange = handler } }

    /// Whether a tray shows the menu. Without one nothing is asked there.
    func setTray(_ hasTray: Bool) { state.with { $0.hasTray = hasTray } }

    /// Waits for the user's answer.
    /// - Returns: nil without a tray, or if the task is cancelled first.
    func answer(to text: String) async -> Bool? {
        let number: Int? = state.with { state in
            guard state.hasTray else { return nil }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return nil }
        return await OpenQuestions.ofProcess.asking {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let question = Question(number: number, text: text)
                    change { $0.open.append(Open(question: question, continuation: continuation)) }
                    // The task was cancelled before.
                    if Task.isCancelled { withdraw(number) }
                }
            } onCancel: {
                withdraw(number)
            }
        }
    }

    private func withdraw(_ number: Int) {
        take { $0.question.number == number }?.continuation.resume(returning: nil)
    }

    private func take(where isMeant: (Open) -> Bool) -> Open? {
        change { state in
            guard let index = state.open.firstIndex(where: isMeant) else { return nil }
            return state.open.remove(at: index)
        }
    }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, handler) = state.with { (body(&$0), $0.onChange) }
        handler?()
        return result
    }

    // MARK: The menu

    var questions: [Question] { state.with { $0.open.map(\.question) } }

    /// The tray was told of these.
    func markShown(_ questions: [Question]) {
        state.with { state in
            for index in state.open.indices where questions.contains(state.open[index].question) {
                state.open[index].shown = state.open[index].shown ?? .now
            }
        }
    }

    /// A submenu for each question.
    static func items(_ questions: [Question]) -> [StatusNotifierItem.Content.MenuItem] {
        questions.map { question in
            func item(_ choice: Choice) -> Int { first + question.number % slots * 3 + choice.rawValue }
            return .init(
                id: item(.none), label: question.text,
                children: [.init(id: item(.allow), label: "Allow"), .init(id: item(.refuse), label: "Refuse")])
        }
    }

    /// Takes an item as the answer, from a second after the tray was told of the question: the user may have meant what
    /// was there before.
    /// - Returns: false for an item of another kind.
    func choose(_ item: Int) -> Bool {
        guard (Self.first..<Self.first + Self.slots * 3).contains(item) else { return false }
        let (slot, value) = (item - Self.first).quotientAndRemainder(dividingBy: 3)
        guard let choice = Choice(rawValue: value), choice != .none else { return true }
        let now = ContinuousClock.now
        let open = take { open in
            open.question.number % Self.slots == slot && open.shown.map { now >= $0 + Prompt.quietTime } == true
        }
        open?.continuation.resume(returning: choice == .allow)
        return true
    }
}
