import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime
import MediaCore
import WindowPlayout

/// The hidden command `share question`: shows the question on stdin in a window, and writes the answer to stdout. In a
/// process of its own, as SDL has one event queue for all windows of a process.
struct QuestionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "question", abstract: "Ask in a window.", shouldDisplay: false)

    func run() throws {
        // The window goes with the process whose question it is.
        ParentProcess.endWithIt()
        let input = Data(FileDescriptor.read(STDIN_FILENO) ?? [])
        guard let question = try? JSONDecoder().decode(WindowQuestion.self, from: input) else {
            throw ExitStatus.usage.code
        }
        let dialog: QuestionDialog
        do throws(SourceFailure) {
            dialog = try QuestionDialog(title: "share", question)
        } catch {
            throw ExitStatus.noDisplay.code
        }
        // The window stays until the process ends: SDL may send an event to a window that it has closed, and Xlib then
        // ends the process, which has to have answered before.
        try withExtendedLifetime(dialog) {
            guard let answer = dialog.run() else { throw ExitStatus.unanswered.code }
            _ = CommandSupport.write(STDOUT_FILENO, String(decoding: try JSONEncoder().encode(answer), as: UTF8.self))
            _exit(0)
        }
    }
}
