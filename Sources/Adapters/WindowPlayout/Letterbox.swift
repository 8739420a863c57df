public import MediaCore

/// Fits a frame into a window: as large as possible with its aspect ratio, and black bars around it.
public struct Letterbox: Equatable, Sendable {
    public let frame: PixelSize
    public let window: PixelSize
    /// The frame's rectangle in the window, with even coordinates and size.
    public let place: PixelRect

    public init(frame: PixelSize, window: PixelSize) {
        self.frame = frame
        self.window = window
        var width = window.width
        var height = window.height
        // A window manager that changes the size by a pixel or two must not cause scaling, which blurs text.
        let isNearlySame = abs(width - frame.width) < 4 && abs(height - frame.height) < 4
        if isNearlySame && width >= frame.width && height >= frame.height {
            width = frame.width
            height = frame.height
        } else if width * frame.height > height * frame.width {
            width = height * frame.width / frame.height
        } else {
            height = width * frame.height / frame.width
        }
        width = max(width & ~1, 2)
        height = max(height & ~1, 2)
        place = PixelRect(
            x: max((window.width - width) / 2, 0) & ~1, y: max((window.height - height) / 2, 0) & ~1, width: width,
            height: height)
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
