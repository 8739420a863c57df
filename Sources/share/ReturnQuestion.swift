import Admission
import CommandSupport
import Foundation
import LinuxRuntime
import WindowPlayout

/// Asks a user who has come back whether to resume the broadcast: in the terminal, or else in a window.
final class ReturnQuestion: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var hasWindow = false
        /// Nothing is to be asked now.
        var isWithdrawn = false
        /// The window was closed, and its thread has not noticed yet.
        var wasWithdrawn = false
    }

    private let prompt: Prompt
    private let state = Monitor(State())

    init(_ prompt: Prompt) { self.prompt = prompt }

    /// - Parameter onAnswer: called with true to resume, with false to end; not called if nobody answers.
    func ask(_ onAnswer: @escaping @Sendable (Bool) -> Void) {
        guard isatty(STDIN_FILENO) != 1 else {
            prompt.start()
            let task = Task { [prompt] in
                if let answer = await prompt.answer(to: .afterLock) { onAnswer(answer == .yes) }
            }
            return state.with { $0.task = task }
        }
        guard QuestionWindow.isPossible else { return Self.sayThatNobodyWasAsked() }
        let isNew = state.with { state in
            defer { (state.hasWindow, state.isWithdrawn) = (true, false) }
            return !state.hasWindow
        }
        guard isNew else { return }
        _ = NamedThread("question") { [state] in
            while true {
                let answer = QuestionWindow.ask(
                    title: "share",
                    "Your session was locked, and the broadcast of your screen is paused.\nResume it?",
                    accept: "Resume", refuse: "End the broadcast",
                    isWanted: { state.with { !$0.isWithdrawn } })
                // A window that disappears after the next question was asked is shown for that one.
                let (isOver, isWanted) = state.with { state in
                    state.hasWindow = answer == nil && !state.isWithdrawn && state.wasWithdrawn
                    state.wasWithdrawn = false
                    return (!state.hasWindow, !state.isWithdrawn)
                }
                guard isOver else { continue }
                if let answer { onAnswer(answer) } else if isWanted { Self.sayThatNobodyWasAsked() }
                return
            }
        }
    }

    private static func sayThatNobodyWasAsked() {
        ErrorOutput.writeLine("share: the broadcast stays paused; share resume continues, share stop ends it")
    }

    /// Takes the question back, if there is one.
    func withdraw() {
        state.with { state in
            state.task?.cancel()
            (state.isWithdrawn, state.wasWithdrawn) = (true, state.hasWindow)
        }
        QuestionWindow.withdraw()
    }
}

extension Prompt.Question {
    /// The question to a user who comes back to a broadcast that the session's lock has paused.
    fileprivate static var afterLock: Self {
        Self(
            kind: .afterLock, id: .random(), who: "your session",
            request: "was locked, and nothing has been captured since",
            details: [], invitation: "Resume the broadcast?", deadline: .now + .seconds(365 * 86_400))
    }
}
