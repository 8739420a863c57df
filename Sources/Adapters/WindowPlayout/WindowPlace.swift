public import MediaCore

/// The place of a window's picture on the desktop, without the window manager's frame, in pixels.
public struct WindowPlace: Equatable, Sendable {
    public var x: Int
    public var y: Int
    public var size: PixelSize

    public init(x: Int, y: Int, size: PixelSize) {
        self.x = x
        self.y = y
        self.size = size
    }

    /// "800x450+20+30"
    public var text: String { "\(size.width)x\(size.height)+\(x)+\(y)" }

    /// Reads the form of `text`. Returns nil for anything else, and for sizes that no window has.
    public init?(_ text: some StringProtocol) {
        let numbers = text.split(whereSeparator: { "x+".contains($0) }).map { Int($0) ?? .min }
        guard numbers.count == 4, numbers.allSatisfy({ (-32_768...32_767).contains($0) }), numbers[0] >= 64,
            numbers[1] >= 36
        else { return nil }
        self.init(x: numbers[2], y: numbers[3], size: PixelSize(width: numbers[0], height: numbers[1]))
    }

    /// The largest place for a picture of `size`: unscaled if it takes at most 90 % of the work area, else scaled to
    /// that, and in the middle of the work area.
    init(of size: PixelSize, in area: PixelRect, frame: WindowFrame) {
        let inner = area.inner(frame)
        let room = PixelSize(
            width: min(inner.width, area.width * 9 / 10), height: min(inner.height, area.height * 9 / 10))
        self.size = size
        if size.width > room.width || size.height > room.height {
            let fitting = PictureLayout.fit(
                size, in: PixelSize(width: max(room.width, 64), height: max(room.height, 36)))
            self.size = PixelSize(width: max(fitting.width & ~1, 2), height: max(fitting.height & ~1, 2))
        }
        x = inner.x + (inner.width - self.size.width) / 2
        y = inner.y + (inner.height - self.size.height) / 2
    }

    /// The same place, moved and made smaller until it and its frame are inside the work area.
    func fitted(into area: PixelRect, frame: WindowFrame) -> WindowPlace {
        let inner = area.inner(frame)
        let size = PixelSize(
            width: min(size.width, max(inner.width, 64)), height: min(size.height, max(inner.height, 36)))
        return WindowPlace(
            x: min(max(x, inner.x), max(inner.x, inner.maxX - size.width)),
            y: min(max(y, inner.y), max(inner.y, inner.maxY - size.height)), size: size)
    }
}

/// The window manager's frame around a window, in pixels.
struct WindowFrame: Equatable {
    var top = 0
    var left = 0
    var bottom = 0
    var right = 0
}

extension PixelRect {
    fileprivate func inner(_ frame: WindowFrame) -> PixelRect {
        PixelRect(
            x: x + frame.left, y: y + frame.top, width: max(width - frame.left - frame.right, 0),
            height: max(height - frame.top - frame.bottom, 0))
    }
}
