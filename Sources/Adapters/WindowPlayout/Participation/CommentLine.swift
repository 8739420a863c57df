import MediaCore

/// The line in which the user writes a comment.
struct CommentLine: Equatable {
    private(set) var text: String
    /// What an input method shows of characters that are not chosen yet.
    var composition = ""

    init(_ text: String = "") { self.text = text }

    /// Adds characters at the end, up to the limit of a comment. A line break becomes a space.
    mutating func insert(_ added: String) {
        composition = ""
        for scalar in added.unicodeScalars {
            guard text.unicodeScalars.count < ViewerMessage.commentLimit else { return }
            if scalar == "\n" || scalar == "\t" {
                text.unicodeScalars.append(" ")
            } else if scalar.value >= 32, scalar.value != 127 {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    mutating func deleteLast() { if !text.isEmpty { text.removeLast() } }

    mutating func clear() { text = "" }

    /// The comment; nil without a visible character.
    var comment: String? {
        let text = UntrustedText.clean(text, limit: ViewerMessage.commentLimit, fallback: "")
        return text.isEmpty ? nil : text
    }

    /// As the window shows it.
    var shown: String { "Comment: \(text)\(composition)|" }
}
