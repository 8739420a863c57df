/// A font of 5 x 9 dots (two rows below the base line) for the few sentences that the window says by itself.
struct BlockFont {
    static let width = 6
    static let height = 11
    static let shared = BlockFont()

    /// For each character of ASCII from the space on, nine rows of five dots; bit 4 is the left one.
    private let rows: [[UInt8]]

    private init() {
        rows = Self.drawings.map { drawing in
            var rows = drawing.split(separator: " ", omittingEmptySubsequences: true).map { row in
                row.utf8.reduce(UInt8(0)) { $0 << 1 | ($1 == UInt8(ascii: "#") ? 1 : 0) }
            }
            while rows.count < 9 { rows.append(0) }
            return rows
        }
    }

    /// The rows of a character's dots; what the font lacks is a question mark.
    func dots(_ character: UInt8) -> [UInt8] {
        let index = Int(character) - 32
        return rows.indices.contains(index) ? rows[index] : rows[31]
    }

    /// The sentence in the font's characters.
    static func characters(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\u{2026}": result += Array("...".utf8)
            case "\u{2018}", "\u{2019}": result.append(UInt8(ascii: "'"))
            case "\u{201C}", "\u{201D}", "\u{201E}": result.append(UInt8(ascii: "\""))
            case "\u{2013}", "\u{2014}": result.append(UInt8(ascii: "-"))
            case "\n", "\t": result.append(32)
            default: result.append(scalar.isASCII && scalar.value >= 32 ? UInt8(scalar.value) : UInt8(ascii: "?"))
            }
        }
        return result
    }

    /// Breaks the text at spaces into lines of at most `columns` characters.
    static func lines(_ text: String, columns: Int) -> [[UInt8]] {
        let columns = max(columns, 8)
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        for word in characters(text).split(separator: 32) {
            var word = word[...]
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = []
            }
            while word.count > columns {
                lines.append(Array(word.prefix(columns)))
                word = word.dropFirst(columns)
            }
            if !line.isEmpty { line.append(32) }
            line += word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}
