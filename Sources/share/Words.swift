import Foundation
import PeerRuntime

/// stderr: words for a person. Lines go out whole; what stands below them (a counted notice, and a question or the status) is drawn
/// again.
enum Words {
    private struct Bottom {
        /// A line that is replaced by the next one of its kind.
        var notice = ""
        var status = ""
        /// Waits for an answer, and hides the status.
        var question: [String] = []
        /// The lines on the screen now, as they were written.
        var drawn: [String] = []
        /// Another program writes now.
        var isHidden = false
        /// Only for output that cannot be redrawn: something was said since the question was written.
        var isCutIn = false

        var lines: [String] {
            (notice.isEmpty ? [] : [notice]) + (question.isEmpty ? (status.isEmpty ? [] : [status]) : question)
        }
    }

    private static let bottom = Monitor(Bottom())
    static let isTerminal = isatty(STDERR_FILENO) == 1
    private static let style = TerminalStyle.current

    static func say(_ line: String) {
        bottom.with { bottom in
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

    /// Shows a line that is replaced by the next; an empty one takes it away. Only in a terminal.
    static func showStatus(_ line: String) {
        guard style.canRedraw else { return }
        bottom.with { bottom in
            guard line != bottom.status else { return }
            bottom.status = line
            if bottom.question.isEmpty { redraw(&bottom) }
        }
    }

    /// Shows a line above the status and any question, in the place of the last notice; an empty one takes it away. Only in a terminal.
    static func showNotice(_ line: String) {
        guard style.canRedraw else { return }
        bottom.with { bottom in
            guard line != bottom.notice else { return }
            bottom.notice = line
            redraw(&bottom)
        }
    }

    static var hasNotices: Bool { style.canRedraw }

    /// Asks, without a line's end; the question stays, whole, below everything else until `answered`. Again, it replaces the question.
    static func ask(_ question: [String], ringing: Bool = false) {
        bottom.with { bottom in
            let bell = ringing && isTerminal ? "\u{7}" : ""
            guard style.canRedraw else {
                let isNew = bottom.question.first != question.first
                bottom.question = question
                // Where nothing can be erased, the seconds are not counted down.
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

    /// The question is over.
    /// - Parameter answer: what was typed: the question stays in the terminal's history with it. Nil takes the question away.
    static func answered(_ answer: String?) {
        bottom.with { bottom in
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

    /// Takes everything at the bottom off the screen, for another program that writes now.
    static func hide() {
        bottom.with { bottom in
            guard style.canRedraw else { return }
            bottom.isHidden = true
            write(STDERR_FILENO, erasing(bottom.drawn))
            bottom.drawn = []
        }
    }

    /// Shows it again where the cursor is now.
    static func showAgain() {
        bottom.with { bottom in
            // Without `hide`, it is not known what stands above the cursor.
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

    /// Columns of the terminal; 80 if that is not known.
    static var columns: Int { columns(of: STDERR_FILENO) ?? 80 }

    /// Nil unless it is a terminal.
    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        return ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// - Parameter text: whole lines, which stay.
    private static func redraw(_ bottom: inout Bottom, after text: String = "") {
        let lines = bottom.isHidden ? [] : rows(bottom.lines)
        // A second of a countdown: only the last line differs, and what a person has selected above stays selected.
        let isLastOnly = lines.count == bottom.drawn.count && lines.dropLast() == bottom.drawn.dropLast()
        if text.isEmpty, lines.count > 1, isLastOnly, let last = lines.last {
            write(STDERR_FILENO, "\r\u{1B}[K" + last)
        } else {
            write(STDERR_FILENO, erasing(bottom.drawn) + text + lines.joined(separator: "\n"))
        }
        bottom.drawn = lines
    }

    /// Moves to the first of the lines and erases from there on. The terminal may have become narrower since.
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
