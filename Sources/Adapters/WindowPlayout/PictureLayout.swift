public import MediaCore

/// Which part of a frame is shown where in a window, in whole pixels of both.
public struct PictureLayout: Equatable, Sendable {
    /// What the user has chosen.
    public struct View: Equatable, Sendable {
        /// Whether a pixel of the frame is one of the window; otherwise the frame is as large as fits.
        public var isOneToOne = false
        /// The frame's pixel in the window's upper left corner, where the frame is larger than the window. The layout
        /// limits it to what has something to show.
        public var x = 0
        public var y = 0

        public init(isOneToOne: Bool = false, x: Int = 0, y: Int = 0) {
            (self.isOneToOne, self.x, self.y) = (isOneToOne, x, y)
        }
    }

    public let frame: PixelSize
    public let window: PixelSize
    /// The chosen view, with the pixel that is in the window's corner.
    public let view: View
    /// The whole frame's rectangle in the window, with even coordinates and size. Where it is larger than the window it
    /// begins left of it or above it.
    public let place: PixelRect

    public init(frame: PixelSize, window: PixelSize, view: View = View()) {
        self.frame = frame
        self.window = window
        var size = Self.fit(frame, in: window)
        if view.isOneToOne || Self.isNear(size, frame, window) { size = frame }
        let width = max(size.width & ~1, 2)
        let height = max(size.height & ~1, 2)
        let x = Self.corner(view.x, width, window.width)
        let y = Self.corner(view.y, height, window.height)
        place = PixelRect(x: x, y: y, width: width, height: height)
        self.view = View(isOneToOne: view.isOneToOne, x: max(-x, 0), y: max(-y, 0))
    }

    /// The largest size with the frame's aspect ratio that fits into a window.
    static func fit(_ frame: PixelSize, in window: PixelSize) -> PixelSize {
        if window.width * frame.height > window.height * frame.width {
            return PixelSize(width: window.height * frame.width / frame.height, height: window.height)
        }
        return PixelSize(width: window.width, height: window.width * frame.height / frame.width)
    }

    /// Whether scaling would change the frame by up to 1 % of its size, or by up to three pixels. It blurs text then:
    /// rows and columns have black bars instead, or are cut off at the right and at the bottom.
    private static func isNear(_ size: PixelSize, _ frame: PixelSize, _ window: PixelSize) -> Bool {
        let (across, down) = (max(frame.width / 100, 3), max(frame.height / 100, 3))
        return frame.width - window.width <= across && frame.height - window.height <= down
            && size.width - frame.width <= across && size.height - frame.height <= down
    }

    /// Where the frame begins in the window along one axis.
    /// - Parameter first: the pixel that the window should begin with.
    private static func corner(_ first: Int, _ length: Int, _ window: Int) -> Int {
        guard length > window else { return (window - length) / 2 & ~1 }
        return -(min(max(first, 0), length - window + 1) & ~1)
    }

    /// Whether the frame is shown without scaling.
    public var isUnscaled: Bool { place.width == frame.width && place.height == frame.height }

    /// Whether a part of the frame is outside the window.
    public var isCut: Bool { place.width > window.width || place.height > window.height }

    /// The part of the window that shows the frame.
    public var destination: PixelRect { place.clipped(to: window) }

    /// The part of the frame, at the size it is shown with, that is in the window.
    public var source: PixelRect {
        let shown = destination
        return PixelRect(x: shown.x - place.x, y: shown.y - place.y, width: shown.width, height: shown.height)
    }

    /// The view with the frame's corner moved, limited to what has something to show.
    func panned(x: Int, y: Int) -> View {
        // Far values come from nobody, but must not overflow.
        let (across, down) = (min(max(x, -100_000), 100_000), min(max(y, -100_000), 100_000))
        let moved = View(isOneToOne: view.isOneToOne, x: view.x + across, y: view.y + down)
        return PictureLayout(frame: frame, window: window, view: moved).view
    }

    /// The other of the two sizes. At 1:1, what was in the middle of the fitted frame is in the window's middle.
    func switched() -> View {
        if view.isOneToOne { return View() }
        let middle = View(
            isOneToOne: true, x: (frame.width - window.width) / 2, y: (frame.height - window.height) / 2)
        return PictureLayout(frame: frame, window: window, view: middle).view
    }

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

    /// The rows of `place` that show these parts of the frame; the bounds are even.
    func rows(of rects: [PixelRect]) -> Range<Int> {
        let targets = rects.map { target(of: $0) }
        guard let first = targets.map(\.y).min(), let end = targets.map(\.maxY).max(), first < end else { return 0..<0 }
        return first..<end
    }

    /// Whether the frame is larger than it is shown.
    var isReduced: Bool { place.width < frame.width }

    /// The part of such a rectangle, relative to the corner of `place`, that is in the window.
    func visible(_ rect: PixelRect) -> PixelRect {
        let moved = PixelRect(x: rect.x + place.x, y: rect.y + place.y, width: rect.width, height: rect.height)
        let shown = moved.clipped(to: window)
        return PixelRect(x: shown.x - place.x, y: shown.y - place.y, width: shown.width, height: shown.height)
    }
}
