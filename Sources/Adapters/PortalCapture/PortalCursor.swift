internal import FrameDifference
internal import MediaCore

/// The cursor of a portal's screen, which comes as metadata of the frames.
struct PortalCursor {
    private static let linger = MediaDuration.seconds(2)

    let mode: PortalScreen.Cursor
    let layer = CursorLayer()
    /// Its last position, in pixels of the picture.
    private var pointer = (x: 0, y: 0)
    /// When a cursor that rests is hidden.
    private(set) var hides: MediaInstant?

    init(mode: PortalScreen.Cursor) { self.mode = mode }

    /// - Parameter origin: of the picture in the buffer, in whose pixels metadata are.
    /// - Returns: whether the cursor has to be drawn anew.
    mutating func take(_ news: CursorMetadata, origin: (x: Int, y: Int), at now: MediaInstant) -> Bool {
        if let bitmap = news.bitmap {
            bitmap.pixels.withUnsafeBufferPointer { layer.setShape(bitmap.shape, $0) }
        }
        let position = (x: news.x - origin.x, y: news.y - origin.y)
        let hasMoved = position != pointer
        pointer = position
        if mode == .shownWhileMoving, hasMoved { hides = now + Self.linger }
        let isVisible = news.isVisible && (mode == .shown || hides != nil)
        layer.setPosition(x: pointer.x, y: pointer.y, isVisible: isVisible)
        return layer.isStale
    }

    /// Hides a cursor that rests.
    /// - Returns: whether the cursor has to be drawn anew.
    mutating func hide(at now: MediaInstant) -> Bool {
        guard let hides, now >= hides else { return false }
        self.hides = nil
        layer.setPosition(x: pointer.x, y: pointer.y, isVisible: false)
        return layer.isStale
    }
}
