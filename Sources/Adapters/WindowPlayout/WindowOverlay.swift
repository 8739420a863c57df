import CSDL
import Glibc
import MediaCore

/// What the window says by itself, over the picture.
struct WindowOverlay: Equatable {
    /// In the middle.
    var status: String?
    /// At the top left.
    var statistics: String?
    /// At the top right.
    var isMute = false
}

/// Makes boxes of an overlay, and keeps them while it stays as it is. Main thread.
final class OverlayLayout {
    private let font = TextFont()
    private let scale: Double
    private var overlay = WindowOverlay()
    private var window = PixelSize(width: 0, height: 0)
    private var boxes: [TextBox] = []

    /// - Parameter scale: of the display; 1 is 96 dots per inch.
    init(scale: Double) { self.scale = scale }

    func boxes(_ overlay: WindowOverlay, in window: PixelSize) -> [TextBox] {
        guard overlay != self.overlay || window != self.window else { return boxes }
        (self.overlay, self.window) = (overlay, window)
        boxes = []
        if let text = overlay.statistics, var box = draw(text, points: 12, isCentred: false) {
            (box.x, box.y) = (gap, gap)
            boxes.append(box)
        }
        if overlay.isMute, var box = draw("muted", points: 14, isCentred: true) {
            (box.x, box.y) = (window.width - box.size.width - gap, gap)
            boxes.append(box)
        }
        if let text = overlay.status, var box = draw(text, points: 18, isCentred: true) {
            (box.x, box.y) = ((window.width - box.size.width) / 2, (window.height - box.size.height) / 2)
            boxes.append(box)
        }
        return boxes
    }

    private var gap: Int { max(4, Int(8 * scale)) }

    /// Smaller than wanted where the window is too narrow for some 30 letters.
    private func draw(_ text: String, points: Double, isCentred: Bool) -> TextBox? {
        let pixels = max(9, min(Int(points * scale * 4 / 3 * 0.8), window.width / 18))
        return font.draw(text, pixels: pixels, width: max(window.width - 4 * pixels, 60), isCentred: isCentred)
    }

    /// The scale of text on the window's display: what the person has set (Xft.dpi, GDK_SCALE), 1...4.
    static func scale(of window: OpaquePointer) -> Double {
        var scale = 1.0
        if let display = csdl_x11_display(window) {
            let resolution = csdl_x11_text_resolution(display)
            if resolution > 0 { scale = resolution / 96 } else if let text = getenv("GDK_SCALE") { scale = atof(text) }
        }
        return min(max(scale.isFinite ? scale : 1, 1), 4)
    }
}
