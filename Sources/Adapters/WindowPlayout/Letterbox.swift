public import MediaCore

/// Fits a frame into a window: as large as possible with its aspect ratio, and black bars around it.
public struct Letterbox: Equatable, Sendable {
    public let frame: PixelSize
    public let window: PixelSize
    /// The frame's rectangle in the window, with even coordinates and size. It may be up to three pixels larger than
    /// the window.
    public let place: PixelRect

    public init(frame: PixelSize, window: PixelSize) {
        self.frame = frame
        self.window = window
        var size = Self.fit(frame, in: window)
        // A window of nearly the frame's size must not cause scaling, which blurs text: at most three rows and columns
        // have black bars, or are cut off at the right and at the bottom.
        let cut = max(frame.width - window.width, frame.height - window.height)
        if cut < 4, size.width - frame.width < 4, size.height - frame.height < 4 { size = frame }
        let width = max(size.width & ~1, 2)
        let height = max(size.height & ~1, 2)
        place = PixelRect(
            x: max((window.width - width) / 2, 0) & ~1, y: max((window.height - height) / 2, 0) & ~1, width: width,
            height: height)
    }

    /// The largest size with the frame's aspect ratio that fits into a window.
    static func fit(_ frame: PixelSize, in window: PixelSize) -> PixelSize {
        if window.width * frame.height > window.height * frame.width {
            return PixelSize(width: window.height * frame.width / frame.height, height: window.height)
        }
        return PixelSize(width: window.width, height: window.width * frame.height / frame.width)
    }

    /// Whether the frame is shown without scaling.
    public var isUnscaled: Bool { place.width == frame.width && place.height == frame.height }

    /// Returns the part of `place`, relative to its corner, that shows `rect` of the frame. It includes a margin of two
    /// pixels for the scaler's filter; `x` and `y` are even.
    func target(of rect: PixelRect) -> PixelRect {
        if isUnscaled { return rect }
        let left = (rect.x * place.width / frame.width - 2) & ~1
        let top = (rect.y * place.height / frame.height - 2) & ~1
        let right = ((rect.maxX * place.width + frame.width - 1) / frame.width + 3) & ~1
        let bottom = ((rect.maxY * place.height + frame.height - 1) / frame.height + 3) & ~1
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
            .clipped(to: PixelSize(width: place.width, height: place.height))
    }
}
