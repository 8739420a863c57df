internal import MediaCore

/// Whether the cursor is drawn.
struct CursorVisibility {
    /// How long the cursor stays after the last motion with `.onlyWhenMoving`.
    static let linger = MediaDuration.seconds(2)

    let mode: CaptureOptions.Cursor
    private var hides = MediaInstant(nanoseconds: 0)
    /// Whether it was drawn last.
    var isShown = false

    init(_ mode: CaptureOptions.Cursor) { self.mode = mode }

    mutating func noteMotion(at now: MediaInstant) {
        if mode == .onlyWhenMoving { hides = now + Self.linger }
    }

    func isWanted(at now: MediaInstant) -> Bool {
        switch mode {
        case .yes: true
        case .no: false
        case .onlyWhenMoving: now < hides
        }
    }

    /// When the cursor that is shown has to go; nil if it stays.
    var deadline: MediaInstant? { mode == .onlyWhenMoving && isShown ? hides : nil }
}
