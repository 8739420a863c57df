import MediaCore

/// A button of the bar at the window's lower edge.
struct BarButton: Equatable {
    enum Choice: Equatable {
        case mute, pictureSize, statistics, fullscreen, help
        case right(ViewerRight)
        case giveControlBack
    }

    var choice: Choice
    /// With its key: "Mute (M)".
    var label: String
    /// Whether what it switches is on.
    var isOn = false
}

/// Whether the bar is shown: it comes with the mouse, and goes when the mouse rests.
struct WindowBar {
    static let time = MediaDuration.milliseconds(2_500)
    /// A mouse that moves less does not call it, as when the window opens under it.
    private static let distance = 3

    private(set) var end: MediaInstant?
    /// Where the mouse was when it came to rest, or to the window.
    private var rest: (x: Int, y: Int)?
    /// Whether the left button went down on the bar. Its release is not for what is below.
    var isPressed = false

    mutating func move(x: Int, y: Int, now: MediaInstant) {
        if end == nil {
            guard let rest else {
                self.rest = (x, y)
                return
            }
            guard max(abs(x - rest.x), abs(y - rest.y)) >= Self.distance else { return }
        }
        rest = (x, y)
        end = now + Self.time
    }

    mutating func expire(_ now: MediaInstant) { if let end, end <= now { self.end = nil } }

    /// The mouse has left the window.
    mutating func leave() { rest = nil }

    mutating func hide() { end = nil }
}
