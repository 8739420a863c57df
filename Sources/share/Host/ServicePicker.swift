import Admission
import CommandSupport
import Extensions
import Glibc
import MediaCore
import WindowPlayout

/// Asks the host's user which of the installed services takes the broadcast. In the terminal; without one, in a small
/// window. The alert of ``ServicePrompt`` follows all the same.
struct ServicePicker {
    /// At least one.
    let services: [ExtensionManifest]

    /// - Returns: nil if the user wants none.
    func pick() -> ExtensionManifest? {
        let range = services.count > 1 ? "1 to \(services.count)" : "1"
        let choice = Choice(
            question: "Which service takes the broadcast?", lines: services.map(\.line), none: "None",
            invitation: "Number, \(range), or [n]one: ", hint: "Type a number, \(range), or n, and press Enter.")
        return choice.pick { ["n", "none"].contains($0.lowercased()) ? .some(nil) : nil }.map { services[$0] }
    }
}

/// A question to the user with numbered answers. In the terminal; without one, in a small window.
struct Choice {
    let question: String
    let lines: [String]
    /// In the window, the answer that chooses nothing.
    let none: String
    let invitation: String
    /// Follows an answer that is none.
    let hint: String

    /// - Parameter other: the choice for an answer in the terminal that is no number; nil: it is no answer.
    /// - Returns: the number of the answer, from 0 on; nil if the user has ended the input, or chooses nothing.
    func pick(_ other: (String) -> Int??) -> Int? {
        isatty(STDIN_FILENO) == 1 ? pickInTerminal(other) : pickInWindow()
    }

    private func pickInTerminal(_ other: (String) -> Int??) -> Int? {
        ErrorOutput.writeLine(question)
        for (index, line) in lines.enumerated() { ErrorOutput.writeLine("  \(index + 1)  \(line)") }
        // Keys that were typed before the question do not answer it.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            _ = write(STDERR_FILENO, "  \(invitation)")
            guard let answer = readLine()?.trimmed else { return nil }
            if let choice = other(answer) { return choice }
            if let number = Int(answer), lines.indices.contains(number - 1) { return number - 1 }
            ErrorOutput.writeLine("  \(hint)")
        }
    }

    private func pickInWindow() -> Int? {
        let answer = WindowPrompt.ofProcess.ask(WindowQuestion(question, choices: lines, answers: [none]))
        return answer?.choice.flatMap { lines.indices.contains($0) ? $0 : nil }
    }
}
