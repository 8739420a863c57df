import CommandSupport
import QRCodes

/// A link as a QR code in the terminal, for a telephone.
struct LinkCode {
    /// Black on white where there are colours: not every reader takes the colours of a dark terminal.
    let lines: [String]
    private let columns: Int

    init?(_ link: String) {
        guard let code = QRCode(link) else { return nil }
        columns = code.size + 4
        lines = TerminalStyle.current.hasColours ? code.lines.map { "\u{1B}[30;107m\($0)\u{1B}[0m" } : code.lines
    }

    /// Writes it to stderr if that is a terminal with room for it and for a question below.
    func show() {
        guard ErrorOutput.isTerminal, TerminalStyle.current.isUTF8, ErrorOutput.columns >= columns,
            ErrorOutput.lines >= lines.count + 12
        else { return }
        for line in lines { ErrorOutput.writeLine(line) }
    }
}
