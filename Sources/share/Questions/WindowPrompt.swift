import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime
import WindowPlayout

/// Asks the user in windows, one at a time, in the order of the questions. Each window is a process of its own
/// (``QuestionCommand``). Safe from any thread.
final class WindowPrompt: Sendable {
    /// A question that waits for its turn, or is shown.
    final class Ticket: Sendable {
        fileprivate struct State {
            var isWithdrawn = false
            var process: Subprocess?
        }

        fileprivate let state = Monitor(State())

        var isWithdrawn: Bool { state.with { $0.isWithdrawn } }

        /// Takes the question back, at once: its window disappears, and it has no answer.
        func withdraw() {
            state.change { state in
                state.isWithdrawn = true
                state.process?.send(SIGKILL)
            }
        }
    }

    /// For all questions of this process, except what stays beside them.
    static let ofProcess = WindowPrompt()

    private let isShowing = Monitor(false)

    /// Blocks until there is an answer.
    /// - Returns: nil if no window can be shown, if the question was withdrawn, or if its time is over.
    func ask(_ question: WindowQuestion, _ ticket: Ticket = Ticket()) -> WindowAnswer? {
        guard WindowQuestion.isPossible, let input = try? JSONEncoder().encode(question) else { return nil }
        isShowing.wait { isShowing -> Void? in
            guard !isShowing else { return nil }
            isShowing = true
            return ()
        }
        defer { isShowing.change { $0 = false } }
        guard !ticket.isWithdrawn, let output = run(input, ticket) else { return nil }
        return try? JSONDecoder().decode(WindowAnswer.self, from: output)
    }

    /// Shows the window in a process.
    /// - Returns: what it writes; nil unless it has succeeded.
    private func run(_ input: Data, _ ticket: Ticket) -> Data? {
        // A group of its own, as Ctrl-C ends the host, which takes its questions back.
        guard
            let process = try? Subprocess(
                "/proc/self/exe", ["question"], environment: ProcessInfo.processInfo.environment, input: .pipe,
                output: .pipe, errors: .descriptor(STDERR_FILENO)),
            let question = process.input, let output = process.output
        else { return nil }
        defer { close(output) }
        ticket.state.change { state in
            state.process = process
            if state.isWithdrawn { process.send(SIGKILL) }
        }
        _ = CommandSupport.write(question, String(decoding: input, as: UTF8.self))
        close(question)
        let answer = Data(FileDescriptor.read(output) ?? [])
        return process.wait() == 0 ? answer : nil
    }
}

extension WindowPrompt {
    /// Nil where no window can be shown.
    var askElsewhere: AskElsewhere? {
        guard WindowQuestion.isPossible else { return nil }
        return { @Sendable [self] question in
            await OpenQuestions.ofProcess.asking { await answer(to: question) }
        }
    }

    /// Asks a question of the terminal's form.
    /// - Returns: as `Prompt` answers; nil if nobody answers, or if the task is cancelled.
    func answer(to question: Prompt.Question) async -> Prompt.Answer? {
        let ticket = Ticket()
        return await withTaskCancellationHandler {
            if Task.isCancelled { return nil }
            let answer = await onThread("question") { [self] in ask(WindowQuestion(question), ticket) }
            return switch answer?.button {
            case 0: .no
            case 1 where question.kind == .knock: .always
            case 1, 2: .yes
            default: nil
            }
        } onCancel: {
            ticket.withdraw()
        }
    }
}

extension WindowQuestion {
    /// A question of the terminal's form, with a button for each key.
    fileprivate init(_ question: Prompt.Question) {
        let isKnock = question.kind == .knock
        self.init(
            "\(question.who) \(question.request). \(question.invitation)", details: question.details,
            answers: isKnock ? ["No", "Always", "Yes"] : ["No", "Yes"],
            seconds: question.kind != .afterLock ? max(1, Int((question.deadline - .now) / .seconds(1))) : nil)
    }
}
