import Admission
import CommandSupport
import Glibc
import Identity
import LinuxRuntime
import Synchronization
import WindowPlayout

/// Asks a user who has come back whether to resume the broadcast: in the terminal, or else in a window.
final class ReturnQuestion: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var ticket: WindowPrompt.Ticket?
    }

    private let prompt: Prompt
    private let state = Mutex(State())

    init(_ prompt: Prompt) { self.prompt = prompt }

    /// - Parameter onAnswer: called with true to resume, with false to end; not called if nobody answers.
    func ask(_ onAnswer: @escaping @Sendable (Bool) -> Void) {
        guard isatty(STDIN_FILENO) != 1 else {
            prompt.start()
            let task = Task { [prompt] in
                if let answer = await prompt.answer(to: .afterLock) { onAnswer(answer == .yes) }
            }
            return state.withLock { $0.task = task }
        }
        guard WindowQuestion.isPossible else { return Self.sayThatNobodyWasAsked() }
        let ticket = WindowPrompt.Ticket()
        let former = state.withLock { state in
            defer { state.ticket = ticket }
            return state.ticket
        }
        former?.withdraw()
        _ = NamedThread("question") {
            let answer = WindowPrompt.ofProcess.ask(
                WindowQuestion(
                    "Your session was locked, and the broadcast of your screen is paused. Resume it?",
                    answers: ["End the broadcast", "Resume"]), ticket)
            if let button = answer?.button {
                onAnswer(button == 1)
            } else if !ticket.isWithdrawn {
                Self.sayThatNobodyWasAsked()
            }
        }
    }

    private static func sayThatNobodyWasAsked() {
        ErrorOutput.writeLine("share: the broadcast stays paused; share resume continues, share stop ends it")
    }

    /// Takes the question back, if there is one.
    func withdraw() {
        let ticket = state.withLock { state in
            state.task?.cancel()
            defer { state.ticket = nil }
            return state.ticket
        }
        ticket?.withdraw()
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
