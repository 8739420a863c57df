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
    func pick() -> ExtensionManifest? { isatty(STDIN_FILENO) == 1 ? pickInTerminal() : pickInWindow() }

    private func pickInTerminal() -> ExtensionManifest? {
        ErrorOutput.writeLine("Which service takes the broadcast?")
        for (index, service) in services.enumerated() { ErrorOutput.writeLine("  \(index + 1)  \(service.line)") }
        // Keys that were typed before the question do not answer it.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            let range = services.count > 1 ? "1 to \(services.count)" : "1"
            _ = write(STDERR_FILENO, "  Number, \(range), or [n]one: ")
            guard let answer = readLine()?.trimmed.lowercased() else { return nil }
            if ["n", "none"].contains(answer) { return nil }
            if let number = Int(answer), services.indices.contains(number - 1) { return services[number - 1] }
            ErrorOutput.writeLine("  Type a number, \(range), or n, and press Enter.")
        }
    }

    private func pickInWindow() -> ExtensionManifest? {
        let answer = WindowPrompt.ofProcess.ask(
            WindowQuestion("Which service takes the broadcast?", choices: services.map(\.line), answers: ["None"]))
        return answer?.choice.flatMap { services.indices.contains($0) ? services[$0] : nil }
    }
}
