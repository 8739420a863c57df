import CommandSupport
import QRCodes

/// A link as a QR code in the terminal, for a telephone.
struct LinkCode {
    let lines: [String]
    private let columns: Int

    init?(_ link: String) {
        guard let code = QRCode(link) else { return nil }
        columns = code.size + 4
        lines = TerminalStyle.current.hasColours ? Self.coloured(code) : code.lines
    }

    /// Black on white, whatever the terminal's own colours are, and without the gaps that fonts leave between full blocks:
    /// the upper half of a character is in the foreground's colour, and the lower half in the background's.
    private static func coloured(_ code: QRCode) -> [String] {
        func isDark(_ x: Int, _ y: Int) -> Bool {
            (0..<code.size).contains(x) && (0..<code.size).contains(y) && code[x, y]
        }
        return stride(from: -2, to: code.size + 2, by: 2).map { y in
            let cells = (-2..<code.size + 2).map { x in
                let (upper, lower) = (isDark(x, y), isDark(x, y + 1))
                let background = "\u{1B}[\(lower ? "40" : "107")m"
                return background + (upper == lower ? " " : "\u{1B}[\(upper ? "30" : "97")m\u{2580}")
            }
            return cells.joined() + "\u{1B}[0m"
        }
    }

    /// Writes it to stderr if that is a terminal with room for it and for a question below.
    func show() {
        guard ErrorOutput.isTerminal, TerminalStyle.current.isUTF8, ErrorOutput.columns >= columns,
            ErrorOutput.lines >= lines.count + 12
        else { return }
        for line in lines { ErrorOutput.writeLine(line) }
    }
}
