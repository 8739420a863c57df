import CommandSupport
import QRCodes

/// A link as a QR code in the terminal, for a telephone.
struct LinkCode {
    let lines: [String]
    private let columns: Int

    /// - Parameter style: of the terminal that shows it.
    init?(_ link: String, style: TerminalStyle = .current) {
        guard let code = QRCode(link) else { return nil }
        columns = code.size + 4
        lines = style.hasColours ? Self.coloured(code) : code.lines
    }

    /// Black on white, whatever the terminal's own colours are, and without the gaps that fonts leave between full
    /// blocks: the upper half of a character is in the foreground's colour, and the lower half in the background's.
    private static func coloured(_ code: QRCode) -> [String] {
        code.lines { upper, lower in
            let background = "\u{1B}[\(lower ? "40" : "107")m"
            return background + (upper == lower ? " " : "\u{1B}[\(upper ? "30" : "97")m\u{2580}")
        }
        .map { $0 + "\u{1B}[0m" }
    }

    /// Writes it to stderr if that is a terminal with room for it.
    /// - Parameter rest: the lines that have to fit, too; nil: it may be higher than the terminal.
    /// - Returns: whether it was written.
    @discardableResult
    func show(leaving rest: Int? = nil) -> Bool {
        guard ErrorOutput.isTerminal, TerminalStyle.current.isUTF8, ErrorOutput.columns >= columns,
            rest.map({ ErrorOutput.lines >= lines.count + $0 }) ?? true
        else { return false }
        for line in lines { ErrorOutput.writeLine(line) }
        return true
    }
}
