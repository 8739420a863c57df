import Foundation
import Signaling
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

@Suite struct TerminalTextTests {
    @Test func linesBreakBetweenWords() {
        let text = "share: \"Ann\" (share, 127.0.0.1) was not let in: nobody answered"
        #expect(TextLayout.wrap(text, columns: 200) == [text])
        let lines = TextLayout.wrap(text, columns: 40)
        #expect(lines == ["share: \"Ann\" (share, 127.0.0.1) was not", "       let in: nobody answered"])
        #expect(TextLayout.wrap("  https://" + String(repeating: "x", count: 60) + " y", columns: 40).count == 2)
    }

    @Test func widthCountsColumns() {
        #expect(TextLayout.width("李雷") == 4)
        #expect(TextLayout.width("e\u{301}\u{1B}[31mx\u{1B}[0m") == 2)
    }

    @Test func plainLocaleGetsPlainCharacters() {
        let plain = TerminalStyle(isTerminal: true, environment: ["TERM": "xterm", "LANG": "C"])
        #expect(plain.fit("\u{25CF} Åsa \u{2026}") == "* ?sa ...")
        let unicode = TerminalStyle(isTerminal: true, environment: ["TERM": "xterm", "LANG": "en_GB.UTF-8"])
        #expect(unicode.fit("\u{25CF} Åsa \u{2026}") == "\u{25CF} Åsa \u{2026}")
        #expect(!TerminalStyle(isTerminal: true, environment: ["LANG": "C.UTF-8", "LC_ALL": "POSIX"]).isUTF8)
    }

    @Test func coloursAreForTerminalsThatHaveThem() {
        func colours(_ environment: [String: String], isTerminal: Bool = true) -> Bool {
            TerminalStyle(isTerminal: isTerminal, environment: environment).hasColours
        }
        #expect(colours(["TERM": "xterm"]))
        #expect(colours(["TERM": "xterm", "NO_COLOR": ""]))
        #expect(!colours(["TERM": "xterm", "NO_COLOR": "1"]))
        #expect(!colours(["TERM": "dumb"]))
        #expect(!colours(["TERM": "xterm"], isTerminal: false))
    }
}
