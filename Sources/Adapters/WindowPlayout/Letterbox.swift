public import MediaCore

/// Fits a frame into a window: as large as possible with its aspect ratio, and black bars around it.
public struct Letterbox: Equatable, Sendable {
    public let picture: PixelSize
    public let window: PixelSize
    /// The frame's rectangle in the window, with even coordinates and size.
    public let place: PixelRect

    public init(picture: PixelSize, window: PixelSize) {
        self.picture = picture
        self.window = window
        var width = window.width
        var height = window.height
        // A window manager that changes the size by a pixel or two must not cause scaling, which blurs text.
        let isNearlySame = abs(width - picture.width) < 4 && abs(height - picture.height) < 4
        if isNearlySame && width >= picture.width && height >= picture.height {
            width = picture.width
            height = picture.height
        } else if width * picture.height > height * picture.width {
            width = height * picture.width / picture.height
        } else {
            height = width * picture.height / picture.width
        }
        width = max(width & ~1, 2)
        height = max(height & ~1, 2)
        place = PixelRect(
            x: max((window.width - width) / 2, 0) & ~1, y: max((window.height - height) / 2, 0) & ~1, width: width,
            height: height)
    }

    /// Whether the frame is shown without scaling.
    public var isUnscaled: Bool { place.width == picture.width && place.height == picture.height }

    /// Returns the part of `place`, relative to its corner, that shows `rect` of the frame. It includes a margin of two
    /// pixels for the scaler's filter; `x` and `y` are even.
    func target(of rect: PixelRect) -> PixelRect {
        if isUnscaled { return rect }
        let left = (rect.x * place.width / picture.width - 2) & ~1
        let top = (rect.y * place.height / picture.height - 2) & ~1
        let right = ((rect.maxX * place.width + picture.width - 1) / picture.width + 3) & ~1
        let bottom = ((rect.maxY * place.height + picture.height - 1) / picture.height + 3) & ~1
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
            .clipped(to: PixelSize(width: place.width, height: place.height))
    }
}
