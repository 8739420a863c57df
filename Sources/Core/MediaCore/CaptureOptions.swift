/// How a screen is captured, apart from what is captured (``CaptureSource``).
public struct CaptureOptions: Sendable, Equatable {
    public enum Cursor: String, CaseIterable, Sendable {
        case yes, no
        /// Shown while the mouse moves, and for two seconds afterwards.
        case onlyWhenMoving = "only-when-moving"
    }

    public var cursor = Cursor.yes
    /// Windows that are black in what is captured of a screen.
    public var hiddenWindows: [WindowPattern] = []

    public init(cursor: Cursor = .yes, hiddenWindows: [WindowPattern] = []) {
        self.cursor = cursor
        self.hiddenWindows = hiddenWindows
    }
}

/// A pattern for titles and classes of windows, compared without case. `*` stands for any characters and `?` for one; a
/// pattern with neither matches a part of the text.
public struct WindowPattern: Hashable, Sendable {
    public let text: String
    private let characters: [Character]

    /// - Returns: nil for an empty text, and for stars alone, which would hide everything.
    public init?(_ text: String) {
        guard text.contains(where: { $0 != "*" && !$0.isWhitespace }) else { return nil }
        self.text = text
        let lower = text.lowercased()
        characters = Array(lower.contains("*") || lower.contains("?") ? lower : "*\(lower)*")
    }

    /// Whether the whole text matches. Takes time proportional to both lengths.
    public func matches(_ text: String) -> Bool {
        let text = Array(text.lowercased())
        var (position, index) = (0, 0)
        /// The last star, and the position up to which it has taken the text.
        var star: (index: Int, position: Int)?
        while position < text.count {
            if index < characters.count, characters[index] == "*" {
                star = (index, position)
                index += 1
            } else if index < characters.count, characters[index] == "?" || characters[index] == text[position] {
                index += 1
                position += 1
            } else if let last = star {
                star = (last.index, last.position + 1)
                index = last.index + 1
                position = last.position + 1
            } else {
                return false
            }
        }
        return characters[index...].allSatisfy { $0 == "*" }
    }
}
