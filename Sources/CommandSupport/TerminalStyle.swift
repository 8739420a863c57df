import FoundationEssentials
import Glibc

/// The capabilities of the terminal: colours, cursor movements, and characters beyond ASCII.
package struct TerminalStyle: Sendable {
    /// The terminal supports escape sequences that move the cursor and erase.
    package let canRedraw: Bool
    package let hasColours: Bool
    package let isUTF8: Bool

    package static let current = TerminalStyle(
        isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)

    /// - Parameter environment: `TERM`, `NO_COLOR` (https://no-color.org), and the locale as setlocale(3) chooses it.
    package init(isTerminal: Bool, environment: [String: String]) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        canRedraw = isTerminal && value("TERM") != "dumb"
        hasColours = canRedraw && value("NO_COLOR") == nil
        let locale = (value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? "C").lowercased()
        isUTF8 = locale.contains("utf-8") || locale.contains("utf8")
    }

    /// Replaces the characters that the locale does not have.
    package func fit(_ text: String) -> String {
        if isUTF8 || text.utf8.allSatisfy({ $0 < 128 }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\u{2026}": result += "..."
            case "\u{2018}", "\u{2019}": result += "'"
            case "\u{201C}", "\u{201D}": result += "\""
            case "\u{2013}", "\u{2014}": result += "-"
            case "\u{25CF}": result += "*"
            case "\u{25CB}": result += "o"
            default: result.unicodeScalars.append(scalar.isASCII ? scalar : "?")
            }
        }
        return result
    }
}
