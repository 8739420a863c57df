import MediaCore

extension UntrustedText {
    /// Returns whether `text` is not empty and cleaning would not change it.
    static func isClean(_ text: String, limit: Int) -> Bool {
        !text.isEmpty && text.unicodeScalars.count <= limit
            // Scalars are compared, because strings that differ may be canonically equivalent.
            && clean(text, limit: limit, fallback: "").unicodeScalars.elementsEqual(text.unicodeScalars)
    }

    /// Cleans a text of several lines. Lines that are empty afterwards stay, but at most one in a row.
    /// - Returns: nil if a word has more than 512 scalars, which nobody could read.
    static func cleanLines(_ text: String) -> String? {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            var words: [String] = []
            for word in line.split(whereSeparator: \.isWhitespace) {
                guard word.unicodeScalars.count <= 512 else { return nil }
                let word = clean(String(word), limit: 512, fallback: "")
                if !word.isEmpty { words.append(word) }
            }
            if words.isEmpty, lines.last?.isEmpty ?? true { continue }
            lines.append(words.joined(separator: " "))
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
