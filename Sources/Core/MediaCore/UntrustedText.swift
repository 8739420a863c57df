/// Sanitises text from the network so that it can be shown in a terminal.
public enum UntrustedText {
    /// Removes control, format (direction overrides, zero width), private, unassigned and default-ignorable scalars.
    /// Replaces a run of white space, or of scalars that look blank, with one space. Keeps at most two combining marks
    /// after a character, and none after a space.
    /// - Parameter limit: in Unicode scalars.
    /// - Returns: `fallback` if nothing remains.
    public static func clean(_ text: String, limit: Int = 64, fallback: String) -> String {
        if isPlain(text, limit: limit) { return text }
        var result = String.UnicodeScalarView()
        var marks = 0
        var isSpacePending = false
        for scalar in text.unicodeScalars.prefix(1_024) {
            guard result.count < limit else { break }
            let properties = scalar.properties
            if properties.isWhitespace || blanks.contains(scalar) {
                isSpacePending = !result.isEmpty
                continue
            }
            if properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint { continue }
            switch properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: continue
            case .nonspacingMark, .enclosingMark, .spacingMark:
                marks += 1
                if marks > 2 || isSpacePending || result.isEmpty { continue }
            default: marks = 0
            }
            if isSpacePending {
                guard result.count + 1 < limit else { break }
                result.append(" ")
                isSpacePending = false
            }
            result.append(scalar)
        }
        return result.isEmpty ? fallback : String(result)
    }

    /// Visible ASCII with single spaces between, which is most text: nothing is to be cleaned.
    private static func isPlain(_ text: String, limit: Int) -> Bool {
        guard (1...max(limit, 1)).contains(text.utf8.count), limit > 0 else { return false }
        var last: UInt8 = 0x20
        for byte in text.utf8 {
            guard (0x20...0x7E).contains(byte), byte != 0x20 || last != 0x20 else { return false }
            last = byte
        }
        return last != 0x20
    }

    /// Symbols that fonts draw as empty space: Braille and hieroglyphic blanks, null notehead, Khitan filler.
    private static let blanks: Set<Unicode.Scalar> = [
        "\u{2800}", "\u{13441}", "\u{13442}", "\u{16FE4}", "\u{1D159}",
    ]

    /// Characters that look like the quotation mark, which ends a quoted name.
    private static let quotes: Set<Unicode.Scalar> = [
        "\"", "\u{201C}", "\u{201D}", "\u{201E}", "\u{201F}", "\u{2033}", "\u{2036}", "\u{02BA}", "\u{02DD}",
        "\u{02EE}", "\u{05F4}", "\u{275D}", "\u{275E}", "\u{301D}", "\u{301E}", "\u{301F}", "\u{3003}", "\u{FF02}",
    ]

    /// Text in which nothing is markup of XML, of a desktop's notification or of WebVTT.
    public static func escapedMarkup(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
        return result
    }

    /// Puts a cleaned name in quotation marks. Escapes quotation marks and backslashes within it.
    public static func quote(_ name: String) -> String {
        var result = "\""
        for scalar in name.unicodeScalars {
            if quotes.contains(scalar) {
                result += "\\\""
            } else if scalar == "\\" {
                result += "\\\\"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
