internal import Glibc

/// A question in a window of its own, and what belongs to it.
public struct WindowQuestion: Codable, Equatable, Sendable {
    public struct Field: Codable, Equatable, Sendable {
        public var name: String
        public var label: String
        public var value: String

        public init(name: String, label: String, value: String = "") {
            self.name = name
            self.label = label
            self.value = value
        }
    }

    /// Who asks, and what: one or two sentences.
    public var text: String
    /// Further sentences, each with lines of its own.
    public var details: [String]
    /// A long text, which is scrolled.
    public var terms: String?
    public var fields: [Field]
    /// Things to choose from, one below the other, which are scrolled; the button that refuses is below.
    public var choices: [String]
    /// The buttons, from left to right. The first one refuses, the last one is what most people want.
    public var answers: [String]
    /// Text that a further button copies.
    public var copied: String?
    /// When the question ends by itself, in seconds from its beginning.
    public var seconds: Int?

    public init(
        _ text: String, details: [String] = [], terms: String? = nil, fields: [Field] = [], choices: [String] = [],
        answers: [String], copied: String? = nil, seconds: Int? = nil
    ) {
        self.text = text
        self.details = details
        self.terms = terms
        self.fields = fields
        self.choices = choices
        self.answers = answers
        self.copied = copied
        self.seconds = seconds
    }

    /// Whether there is a display for a window.
    public static var isPossible: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }
}

/// What the user has answered.
public struct WindowAnswer: Codable, Equatable, Sendable {
    /// The index of the button; nil if one of the choices was taken.
    public var button: Int?
    public var choice: Int?
    /// The button was pressed: the window was not closed, and Escape was not pressed.
    public var isPressed: Bool
    /// The values of the fields, by their names.
    public var values: [String: String] = [:]

    public init(
        button: Int? = nil, choice: Int? = nil, isPressed: Bool = true, values: [String: String] = [:]
    ) {
        self.isPressed = isPressed
        self.button = button
        self.choice = choice
        self.values = values
    }
}
