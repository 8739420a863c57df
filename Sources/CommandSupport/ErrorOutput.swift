import FoundationEssentials
import Glibc
import Host
import LinuxRuntime
import Synchronization

/// Writes messages for people to stderr, in whole lines. Below them it redraws the bottom of the screen: a counted
/// notice, and a question or the status.
package enum ErrorOutput {
    private struct Bottom {
        /// A line that the next notice replaces.
        var notice = ""
        var status = ""
        /// The question that waits for an answer. It hides the status.
        var question: [String] = []
        /// The lines on the screen at present, as they were written.
        var drawn: [String] = []
        /// Another program writes to the terminal now.
        var isHidden = false
        /// Only for output that cannot be redrawn: a message was written after the question.
        var isCutIn = false

        var lines: [String] {
            (notice.isEmpty ? [] : [notice]) + (question.isEmpty ? (status.isEmpty ? [] : [status]) : question)
        }
    }

    private static let bottom = Mutex(Bottom())
    package static let isTerminal = isatty(STDERR_FILENO) == 1
    private static let style = TerminalStyle.current

    package static func writeLine(_ line: String) {
        bottom.withLock { bottom in
            let text = rows([line]).joined(separator: "\n") + "\n"
            guard style.canRedraw else {
                write(STDERR_FILENO, (bottom.question.isEmpty || bottom.isCutIn ? "" : "\n") + text)
                bottom.isCutIn = true
                if !bottom.question.isEmpty { writePlainQuestion(&bottom) }
                return
            }
            redraw(&bottom, after: text)
        }
    }

    /// Has the terminal copy a text to the clipboard (OSC 52 of xterm's control sequences). Terminals that do not know
    /// it, or whose user has not allowed it, ignore it.
    /// - Returns: false where stderr is no terminal.
    package static func copyToClipboard(_ text: String) -> Bool {
        guard isTerminal else { return false }
        let sequence = "\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{1B}\\"
        bottom.withLock { _ in _ = write(STDERR_FILENO, sequence) }
        return true
    }

    /// Has the terminal copy a link.
    /// - Returns: a sentence that says so.
    package static func copied(_ link: String) -> String {
        copyToClipboard(link)
            ? "the terminal was asked to copy the link" : "there is no terminal that could copy the link"
    }

    /// Writes to stdout. Where that is the terminal of stderr, too, the bottom lines make room and follow.
    /// - Returns: why it cannot be written, as in `errno`; nil if all was written.
    static func writeData(_ text: String) -> Int32? {
        bottom.withLock { bottom in
            guard style.canRedraw, isatty(STDOUT_FILENO) == 1, !bottom.drawn.isEmpty else {
                return write(STDOUT_FILENO, text)
            }
            write(STDERR_FILENO, erasing(bottom.drawn))
            bottom.drawn = []
            defer { redraw(&bottom) }
            return write(STDOUT_FILENO, text)
        }
    }

    /// Removes the bottom lines for good, so that the shell's prompt begins in a line of its own. Called at the
    /// process's end.
    private static func finish() {
        bottom.withLock { bottom in
            guard !bottom.isHidden else { return }
            bottom.isHidden = true
            write(STDERR_FILENO, erasing(bottom.drawn))
            bottom.drawn = []
        }
    }

    private static let finishesAtExit: Void = { _ = atexit { ErrorOutput.finish() } }()

    /// Shows the status line in place of the previous one; an empty one removes it. Only in a terminal.
    package static func showStatus(_ line: String) {
        guard style.canRedraw else { return }
        _ = finishesAtExit
        bottom.withLock { bottom in
            guard line != bottom.status else { return }
            bottom.status = line
            if bottom.question.isEmpty { redraw(&bottom) }
        }
    }

    /// Shows a line above the status and any question, in place of the previous notice; an empty one removes it. Only
    /// in a terminal.
    package static func showNotice(_ line: String) {
        guard style.canRedraw else { return }
        bottom.withLock { bottom in
            guard line != bottom.notice else { return }
            bottom.notice = line
            redraw(&bottom)
        }
    }

    package static var hasNotices: Bool { style.canRedraw }

    /// Shows a question without a line break at its end. It stays complete below everything else until `answered` is
    /// called; another call replaces it.
    package static func ask(_ question: [String], ringing: Bool = false) {
        bottom.withLock { bottom in
            let bell = ringing && isTerminal ? "\u{7}" : ""
            guard style.canRedraw else {
                let isNew = bottom.question.first != question.first
                bottom.question = question
                // Where lines cannot be erased, the countdown is not updated.
                if isNew || ringing {
                    if !bottom.isCutIn { write(STDERR_FILENO, bell) }
                    writePlainQuestion(&bottom)
                }
                return
            }
            bottom.question = question
            redraw(&bottom, after: bell)
        }
    }

    /// Ends the question.
    /// - Parameter answer: the text typed; the question then stays in the terminal's history with it. Nil removes the
    ///   question.
    package static func answered(_ answer: String?) {
        bottom.withLock { bottom in
            let question = bottom.question
            bottom.question = []
            guard style.canRedraw else {
                write(STDERR_FILENO, (answer ?? "") + "\n")
                bottom.isCutIn = true
                return
            }
            guard let answer, let last = question.last else { return redraw(&bottom) }
            redraw(&bottom, after: rows(question.dropLast() + [last + answer]).joined(separator: "\n") + "\n")
        }
    }

    /// Erases the bottom lines, because another program writes now.
    package static func hide() {
        bottom.withLock { bottom in
            guard style.canRedraw else { return }
            bottom.isHidden = true
            write(STDERR_FILENO, erasing(bottom.drawn))
            bottom.drawn = []
        }
    }

    /// Draws the bottom lines again at the cursor.
    package static func showAgain() {
        bottom.withLock { bottom in
            // Without a call of `hide`, the content above the cursor is unknown.
            let start = bottom.isHidden || bottom.drawn.isEmpty ? "" : "\n"
            bottom.isHidden = false
            bottom.drawn = []
            if style.canRedraw {
                redraw(&bottom, after: start)
            } else if !bottom.question.isEmpty {
                writePlainQuestion(&bottom)
            }
        }
    }

    /// The width of the terminal in columns; 80 if unknown.
    package static var columns: Int { columns(of: STDERR_FILENO) ?? 80 }

    /// The height of the terminal in lines; 24 if unknown.
    package static var lines: Int {
        size(of: STDERR_FILENO).flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } ?? 24
    }

    /// Returns nil unless the descriptor is a terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        size(of: descriptor).flatMap { $0.ws_col > 0 ? Int($0.ws_col) : nil }
    }

    private static func size(of descriptor: Int32) -> winsize? {
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }

    /// - Parameter text: complete lines, which stay above the bottom lines.
    private static func redraw(_ bottom: inout Bottom, after text: String = "") {
        let lines = bottom.isHidden ? [] : rows(bottom.lines)
        // In a countdown only the last line differs. The lines above are not redrawn, so that text a person has
        // selected there stays selected.
        let isLastOnly = lines.count == bottom.drawn.count && lines.dropLast() == bottom.drawn.dropLast()
        if text.isEmpty, lines.count > 1, isLastOnly, let last = lines.last {
            write(STDERR_FILENO, "\r\u{1B}[K" + last)
        } else {
            write(STDERR_FILENO, erasing(bottom.drawn) + text + lines.joined(separator: "\n"))
        }
        bottom.drawn = lines
    }

    /// Returns the escape sequence that moves to the first of these lines and erases from there on. Computes rows anew,
    /// because the terminal may have become narrower.
    private static func erasing(_ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        let columns = columns
        let rows = lines.reduce(0) { $0 + max(1, (TextLayout.width($1) + columns - 1) / columns) }
        return "\r" + (rows > 1 ? "\u{1B}[\(rows - 1)A" : "") + "\u{1B}[J"
    }

    private static func rows(_ lines: [String]) -> [String] {
        guard let columns = columns(of: STDERR_FILENO) else { return lines.map(style.fit) }
        return lines.flatMap { TextLayout.wrap(style.fit($0), columns: columns) }
    }

    private static func writePlainQuestion(_ bottom: inout Bottom) {
        write(STDERR_FILENO, rows(bottom.question).joined(separator: "\n"))
        bottom.isCutIn = false
    }
}
