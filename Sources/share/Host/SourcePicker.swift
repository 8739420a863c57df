import CommandSupport
import Glibc
import MediaCore
import ShareKit
import WindowPlayout
import X11Capture

/// Asks the host's user in the terminal what to share, where there is a choice and `--source` is omitted.
struct SourcePicker {
    /// The first one is the answer if the user presses Enter.
    let choices: [SourceEntry]

    /// The whole screen, each monitor if there are several, the windows, and the cameras.
    /// - Parameter cameras: finds them; only called if there is a choice.
    /// - Returns: nil if there is only the screen.
    init?(_ found: DesktopSources, cameras: () -> [ShareableSource]) {
        var monitors = found.monitors.map { ShareableSource($0) }
        if monitors.count < 2 { monitors = [] }
        let all = monitors + found.windows.map { ShareableSource($0) }
        guard !all.isEmpty else { return nil }
        choices = [SourceEntry(wholeScreen: found.monitors)] + (all + cameras()).map { SourceEntry($0) }
    }

    /// - Returns: nil if the user has ended the input, or wants nothing.
    func pick() -> CaptureSource? { isatty(STDIN_FILENO) == 1 ? pickInTerminal() : pickInWindow() }

    private func pickInWindow() -> CaptureSource? {
        let answer = WindowPrompt.ofProcess.ask(
            WindowQuestion("What do you want to share?", choices: choices.map(\.description), answers: ["Nothing"]))
        return answer?.choice.flatMap { choices.indices.contains($0) ? choices[$0].source : nil }
    }

    private func pickInTerminal() -> CaptureSource? {
        ErrorOutput.writeLine("What do you want to share?")
        for (index, choice) in choices.enumerated() {
            ErrorOutput.writeLine("  \(index + 1)  \(choice.description)")
        }
        // Keys that were typed before the question do not answer it.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            _ = write(STDERR_FILENO, "  Number, 1 to \(choices.count) (Enter: 1): ")
            guard let answer = readLine()?.trimmed else { return nil }
            if answer.isEmpty { return choices[0].source }
            if let number = Int(answer), choices.indices.contains(number - 1) { return choices[number - 1].source }
            ErrorOutput.writeLine("  Type a number, 1 to \(choices.count), and press Enter.")
        }
    }
}
