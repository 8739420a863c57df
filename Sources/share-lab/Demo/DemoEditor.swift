import MediaCore
import WindowPlayout

/// Code that is typed, with a colour for each kind of word.
struct DemoEditor {
    private static let background: UInt32 = 0x1E2127
    private static let pixels = 17
    private static let lineHeight = 26
    private static let keywords: Set<String> = [
        "import", "let", "var", "func", "for", "in", "await", "try", "if", "else", "return", "struct", "async",
        "throws",
        "guard", "self", "case", "switch", "while",
    ]
    /// An app that shares its own window.
    private static let code = """
        import ShareKit

        /// A sheet that everybody with the link may watch.
        struct Presenter {
            let source: ApplicationSource
            let broadcast: PeerBroadcast

            init() throws {
                source = try ApplicationSource(name: "Sheet", width: 1280, height: 720)
                broadcast = try PeerBroadcast(source) { viewer in
                    // Four words tell who it is.
                    await ask("\\(viewer.name): \\(viewer.words)")
                }
            }

            func present() async throws {
                print("watch me at", try await broadcast.start())
                for await event in broadcast.events {
                    if case .viewerConnected(let name) = event { print(name, "watches") }
                }
            }
        }
        """.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }

    private let area: PixelRect
    private let characterWidth: Int
    private var line = 0
    private var column = 0

    init(_ place: PixelRect, in window: DrawingWindow) {
        area = window.open(place, title: "Presenter.swift", color: Self.background)
        characterWidth = window.width("M", pixels: Self.pixels, family: .monospace)
        begin(in: window)
    }

    /// The first lines are there already.
    private mutating func begin(in window: DrawingWindow) {
        window.fill(area, Self.background)
        for index in 0..<7 { write(Self.code[index], at: index, cursor: false, in: window) }
        (line, column) = (7, 0)
    }

    mutating func draw(_ frame: Int, in window: DrawingWindow) {
        guard line < Self.code.count else {
            begin(in: window)
            return
        }
        let text = Self.code[line]
        if column == 0 { column = text.prefix { $0 == " " }.count }
        write(String(text.prefix(column)), at: line, cursor: column < text.count, in: window)
        if column >= text.count {
            (line, column) = (line + 1, 0)
        } else {
            column += 1
        }
    }

    private func write(_ text: String, at line: Int, cursor: Bool, in window: DrawingWindow) {
        let y = area.y + 10 + line * Self.lineHeight
        let row = PixelRect(x: area.x, y: y, width: area.width, height: Self.lineHeight)
        let left = area.x + 64
        window.fill(row, Self.background)
        window.write(
            String(line + 1).padded(to: 3, before: " "), x: area.x + 12, y: y, pixels: Self.pixels, color: 0x5C6370,
            family: .monospace)
        for (offset, word, color) in Self.words(of: text) {
            window.write(
                word, x: left + offset * characterWidth, y: y, pixels: Self.pixels, color: color, family: .monospace,
                clip: row)
        }
        if cursor {
            window.fill(PixelRect(x: left + text.count * characterWidth + 1, y: y + 2, width: 2, height: 22), 0x528BFF)
        }
    }

    /// Returns the words of a line with their columns and colours.
    private static func words(of line: String) -> [(Int, String, UInt32)] {
        var words: [(Int, String, UInt32)] = []
        let characters = Array(line)
        var index = 0
        while index < characters.count {
            let begin = index
            let first = characters[index]
            var color: UInt32 = 0xABB2BF
            if first == " " {
                index += 1
                continue
            } else if first == "/", characters[index...].starts(with: "//") {
                (index, color) = (characters.count, 0x7F848E)
            } else if first == "\"" {
                index = (characters[(index + 1)...].firstIndex(of: "\"") ?? characters.count - 1) + 1
                color = 0x98C379
            } else if first.isLetter || first.isNumber {
                index = characters[index...].firstIndex { !$0.isLetter && !$0.isNumber } ?? characters.count
                let word = String(characters[begin..<index])
                color =
                    keywords.contains(word)
                    ? 0xC678DD : first.isNumber ? 0xD19A66 : first.isUppercase ? 0xE5C07B : 0x61AFEF
            } else {
                index += 1
            }
            words.append((begin, String(characters[begin..<index]), color))
        }
        return words
    }
}
