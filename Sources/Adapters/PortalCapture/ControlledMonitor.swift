internal import LinuxRuntime
internal import MediaCore

/// The monitor that viewers control, in pixels of its frames and in the desktop's units.
struct ControlledMonitor {
    private let logicalSize: PixelSize?
    /// Of the first frame.
    private var base: PixelSize?
    /// The size of the newest frame; nil: none has come.
    var frame: PixelSize? { didSet { base = base ?? frame } }

    /// - Parameter logicalSize: when it was granted; nil: that of a frame.
    init(logicalSize: PixelSize? = nil) { self.logicalSize = logicalSize }

    /// The size in the desktop's units, also when the monitor got another one since it was granted.
    var size: PixelSize? {
        guard let frame, let base else { return nil }
        guard let logicalSize else { return frame }
        return PixelSize(
            width: max(1, frame.width * logicalSize.width / base.width),
            height: max(1, frame.height * logicalSize.height / base.height))
    }

    /// The place of a pixel in the desktop's units.
    func place(x: Int, y: Int) -> ScreenPoint? {
        guard let frame, let size else { return nil }
        // The sender says where it is.
        let (x, y) = (min(max(x, 0), frame.width), min(max(y, 0), frame.height))
        return ScreenPoint(x: x * size.width / frame.width, y: y * size.height / frame.height)
    }
}

/// All of a monitor.
struct MonitorArea: ControlledArea {
    let size: PixelSize

    var isWholeScreen: Bool { true }
    // Which monitor has the keyboard, the desktop does not tell.
    var hasFocus: Bool { true }
    var hasPointer: Bool { true }

    func pixel(of point: PicturePoint) -> ScreenPoint? {
        let pixel = point.pixel(width: size.width, height: size.height)
        return ScreenPoint(x: pixel.x, y: pixel.y)
    }

    func isShared(at point: ScreenPoint) -> Bool { true }
}
