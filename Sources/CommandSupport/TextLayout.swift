/// Wraps text for a terminal and computes its width.
package enum TextLayout {
    /// Wraps a text at spaces. A word longer than a line is not split. Later lines have the indentation of the first.
    /// - Parameter columns: the width of the terminal. The last column stays empty, because terminals differ in how
    ///   they wrap there.
    package static func wrap(_ text: String, columns: Int) -> [String] {
        let indent = text.hasPrefix("share: ") ? 7 : text.prefix { $0 == " " }.count
        guard columns >= indent + 20, width(text) >= columns else { return [text] }
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = String(text.prefix { $0 == " " })
        var used = line.count
        var isEmpty = true
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            let wide = width(word)
            if !isEmpty, used + 1 + wide >= columns {
                lines.append(line)
                (line, used, isEmpty) = (margin, indent, true)
            }
            if !isEmpty {
                line += " "
                used += 1
            }
            line += word
            used += wide
            isEmpty = false
        }
        lines.append(line)
        return lines
    }

    /// Returns the number of columns: two for East Asian wide characters and emoji, none for combining marks and for
    /// escape sequences of colours.
    package static func width(_ text: some StringProtocol) -> Int {
        var columns = 0
        var isEscape = false
        for scalar in text.unicodeScalars {
            if isEscape {
                isEscape = scalar != "m"
            } else if scalar == "\u{1B}" {
                isEscape = true
            } else {
                columns += width(scalar)
            }
        }
        return columns
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return scalar.value < 32 || scalar.value == 127 ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
            0x1F900...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
