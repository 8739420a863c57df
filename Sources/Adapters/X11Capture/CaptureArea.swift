internal import CXCB
internal import MediaCore

/// Where the pixels of a frame are.
struct CaptureArea: Equatable {
    /// The largest side of a VP8 frame, rounded to an even number.
    static let largestSide = CaptureSource.largestSide & ~1

    /// Even on both sides, at least 2 x 2.
    var size: PixelSize
    /// The root window, or the pixmap of a window; 0 if there is nothing to read.
    var drawable: xcb_drawable_t
    /// The frame's upper left pixel in the drawable.
    var x = 0
    var y = 0
    /// The part of the frame that the drawable has. The rest is black.
    var readable: PixelRect
    /// The frame's upper left pixel in the root window.
    var rootX = 0
    var rootY = 0

    /// A part of the root window.
    /// - Parameter rect: in its pixels; what lies outside of it is black.
    init(_ rect: PixelRect, ofRoot root: xcb_window_t, size rootSize: PixelSize) {
        size = Self.frameSize(PixelSize(width: rect.width, height: rect.height))
        drawable = root
        x = rect.x
        y = rect.y
        rootX = rect.x
        rootY = rect.y
        readable = rect.intersection(PixelRect(rootSize)).offset(x: -rect.x, y: -rect.y).clipped(to: size)
    }

    /// A window of this size, in its pixmap behind its border.
    init(_ window: PixelSize, of pixmap: xcb_pixmap_t, border: Int) {
        size = Self.frameSize(window)
        drawable = pixmap
        x = border
        y = border
        readable = PixelRect(window).clipped(to: size)
    }

    /// The same area with nothing to read.
    var black: CaptureArea {
        var area = self
        area.drawable = 0
        area.readable = PixelRect(x: 0, y: 0, width: 0, height: 0)
        return area
    }

    /// An odd side loses its last row or column, as 4:2:0 needs even ones; a side of 1 gets a black one.
    private static func frameSize(_ size: PixelSize) -> PixelSize {
        PixelSize(
            width: min(max(size.width & ~1, 2), largestSide), height: min(max(size.height & ~1, 2), largestSide))
    }
}
