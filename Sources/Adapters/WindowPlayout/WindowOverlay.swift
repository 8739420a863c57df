import CSDL
import Glibc
import MediaCore

/// The texts that the window shows over the frame.
struct WindowOverlay: Equatable {
    /// The text in the centre.
    var status: String?
    /// Whether all keys are shown, in the centre, in the place of the status.
    var hasHelp = false
    /// The text at the top left.
    var statistics: String?
    /// The comments, at the bottom left.
    var comments: String?
    /// Whether audio is muted, which is shown at the top right where there is audio.
    var isMute = false
    var hasAudio = true
}

/// Lays out the boxes of an overlay, and caches them while the overlay and the window size stay the same.
/// - Isolation: main thread.
final class OverlayLayout {
    private let font = TextFont()
    private let scale: Double
    private var overlay = WindowOverlay()
    private var window = PixelSize(width: 0, height: 0)
    private var boxes: [TextBox] = []

    /// - Parameter scale: the display's scale; 1 is 96 dots per inch.
    init(scale: Double) { self.scale = scale }

    func boxes(_ overlay: WindowOverlay, in window: PixelSize) -> [TextBox] {
        guard overlay != self.overlay || window != self.window else { return boxes }
        (self.overlay, self.window) = (overlay, window)
        boxes = []
        if let text = overlay.statistics, var box = draw(text, points: 12, isCentred: false) {
            (box.x, box.y) = (gap, gap)
            boxes.append(box)
        }
        if let text = overlay.comments, var box = draw(text, points: 13, isCentred: false) {
            (box.x, box.y) = (gap, window.height - box.size.height - gap)
            boxes.append(box)
        }
        if overlay.isMute, overlay.hasAudio, var box = draw("muted", points: 14, isCentred: true) {
            (box.x, box.y) = (window.width - box.size.width - gap, gap)
            boxes.append(box)
        }
        if let text = overlay.hasHelp ? Self.help : overlay.status, var box = draw(text, points: 18, isCentred: true) {
            (box.x, box.y) = ((window.width - box.size.width) / 2, (window.height - box.size.height) / 2)
            boxes.append(box)
        }
        return boxes
    }

    /// All keys of the window.
    static let help = """
        F: full screen, also a double click
        1: picture's own size, or as large as fits
        Arrow keys, wheel, mouse: move the picture
        M: audio on or off
        S: statistics
        Q, Esc: leave
        ?: close this help
        """

    private var gap: Int { max(4, Int(8 * scale)) }

    /// The font is smaller where the window is too narrow for about 30 letters.
    private func draw(_ text: String, points: Double, isCentred: Bool) -> TextBox? {
        let pixels = max(9, min(Int(points * scale * 4 / 3 * 0.8), window.width / 18))
        return font.draw(text, pixels: pixels, width: max(window.width - 4 * pixels, 60), isCentred: isCentred)
    }

    /// The text scale of the window's display, from the user's settings (Xft.dpi, else GDK_SCALE), limited to 1...4.
    static func scale(of window: OpaquePointer) -> Double {
        var scale = 1.0
        if let display = csdl_x11_display(window) {
            let resolution = csdl_x11_text_resolution(display)
            if resolution > 0 { scale = resolution / 96 } else if let text = getenv("GDK_SCALE") { scale = atof(text) }
        }
        return min(max(scale.isFinite ? scale : 1, 1), 4)
    }
}
