import MediaCore

/// The comments that a window shows, each for some seconds.
struct WindowComments: Equatable {
    /// The oldest one first, each with the time at which it goes.
    private(set) var lines: [(text: String, end: MediaInstant)] = []

    private static let limit = 5

    mutating func add(_ text: String, until end: MediaInstant) {
        lines.append((text, end))
        if lines.count > Self.limit { lines.removeFirst() }
    }

    /// Takes away those whose time is over.
    mutating func expire(_ now: MediaInstant) { lines.removeAll { $0.end <= now } }

    /// When the next one goes; nil: none is shown.
    var nextEnd: MediaInstant? { lines.map(\.end).min() }

    /// Nil without comments.
    var text: String? { lines.isEmpty ? nil : lines.map(\.text).joined(separator: "\n") }

    static func == (one: Self, other: Self) -> Bool {
        one.lines.elementsEqual(other.lines) { $0.text == $1.text && $0.end == $1.end }
    }
}
