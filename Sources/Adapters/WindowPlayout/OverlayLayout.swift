import CSDL
import Glibc
import MediaCore

/// Lays out the boxes of an overlay, and caches them while the overlay and the window size stay the same.
/// - Isolation: main thread.
final class OverlayLayout {
    private let font = TextFont()
    private let scale: Double
    private var overlay = WindowOverlay()
    private var window = PixelSize(width: 0, height: 0)
    private var boxes: [TextBox] = []
    private var bar: [(choice: BarButton.Choice, place: PixelRect)] = []

    /// - Parameter scale: the display's scale; 1 is 96 dots per inch.
    init(scale: Double) { self.scale = scale }

    func boxes(_ overlay: WindowOverlay, in window: PixelSize) -> [TextBox] {
        guard overlay != self.overlay || window != self.window else { return boxes }
        (self.overlay, self.window) = (overlay, window)
        boxes = []
        bar = []
        var bottom = window.height - gap
        addBar(overlay.bar, &bottom)
        addControlHint(overlay.controlHint, &bottom)
        if let text = overlay.line, let box = draw(text, points: 13, isCentred: false) { add(box, .centre, &bottom) }
        if let text = overlay.notice, let box = draw(text, points: 13, isCentred: true) { add(box, .centre, &bottom) }
        if let text = overlay.comments, let box = draw(text, points: 13, isCentred: false) { add(box, .left, &bottom) }
        if let text = overlay.statistics, var box = draw(text, points: 12, isCentred: false) {
            (box.x, box.y) = (gap, gap)
            boxes.append(box)
        }
        if overlay.isMute, overlay.hasAudio, var box = draw("muted", points: 14, isCentred: true) {
            (box.x, box.y) = (window.width - box.size.width - gap, gap)
            boxes.append(box)
        }
        if let text = overlay.hasHelp ? help(overlay) : overlay.status,
            var box = draw(text, points: 18, isCentred: true)
        {
            (box.x, box.y) = ((window.width - box.size.width) / 2, (window.height - box.size.height) / 2)
            boxes.append(box)
        }
        return boxes
    }

    private func addControlHint(_ edge: WindowOverlay.Edge?, _ bottom: inout Int) {
        guard let edge, var box = draw(Self.controlHint, points: 12, isCentred: true) else { return }
        guard edge == .top else { return add(box, .centre, &bottom) }
        (box.x, box.y) = ((window.width - box.size.width) / 2, gap)
        boxes.append(box)
    }

    private enum Side {
        case left, centre
    }

    /// Adds a box above those that are at the lower edge already.
    private func add(_ box: TextBox, _ side: Side, _ bottom: inout Int) {
        var box = box
        box.x = side == .left ? gap : (window.width - box.size.width) / 2
        box.y = bottom - box.size.height
        bottom = box.y - gap
        boxes.append(box)
    }

    // MARK: Bar

    /// Adds the buttons in as many rows as they need. A bar that took more than a third of the window is left out.
    private func addBar(_ buttons: [BarButton], _ bottom: inout Int) {
        let space = max(2, gap / 2)
        var rows: [[(BarButton.Choice, TextBox)]] = []
        var width = window.width
        for button in buttons {
            let colors = button.isOn ? TextBox.Colors.chosen : .button
            guard let box = draw(button.label, points: 12, isCentred: true, colors) else { continue }
            if width + space + box.size.width > window.width - 2 * gap {
                rows.append([])
                width = 0
            }
            width += (width == 0 ? 0 : space) + box.size.width
            rows[rows.count - 1].append((button.choice, box))
        }
        let heights = rows.map { $0.map(\.1.size.height).max() ?? 0 }
        guard heights.reduce(0, +) + space * max(rows.count - 1, 0) <= window.height / 3 else { return }
        for (row, height) in zip(rows, heights).reversed() {
            let width = row.reduce(-space) { $0 + $1.1.size.width + space }
            var x = (window.width - width) / 2
            for (choice, box) in row {
                var box = box.extended(to: height)
                (box.x, box.y) = (x, bottom - height)
                x += box.size.width + space
                boxes.append(box)
                bar.append((choice, box.place(in: window)))
            }
            bottom -= height + space
        }
        if !rows.isEmpty { bottom -= max(gap - space, 0) }
    }

    /// The button of the bar at a pixel of the window; nil if there is none.
    func barButton(x: Int, y: Int) -> BarButton.Choice? {
        bar.first { ($0.place.x..<$0.place.maxX).contains(x) && ($0.place.y..<$0.place.maxY).contains(y) }?.choice
    }

    // MARK: Texts

    private static let controlHint = "You control this screen. Right Ctrl gives you keyboard and mouse back."

    /// All keys of the window.
    private func help(_ overlay: WindowOverlay) -> String {
        var lines = [
            "F: full screen, also a double click", "1: picture's own size, or as large as fits",
            "Arrow keys, wheel, mouse: move the picture", "M: audio on or off", "S: statistics",
        ]
        if overlay.rights.point != .no { lines.append("P: point at the picture; click, or drag to draw") }
        if overlay.rights.comment != .no { lines.append("C: write a comment") }
        if overlay.rights.control != .no {
            lines += ["R: control the host's screen, until Right Ctrl", "G: give control back"]
        }
        return (lines + ["Q, Esc: leave", "?: close this help"]).joined(separator: "\n")
    }

    /// Draws the pointers of viewers in the same scale.
    func makePointerLayer() -> PointerLayer { PointerLayer(font: font, scale: scale) }

    private var gap: Int { max(4, Int(8 * scale)) }

    /// The font is smaller where the window is too narrow for about 30 letters, or too low for the lines.
    private func draw(
        _ text: String, points: Double, isCentred: Bool, _ colors: TextBox.Colors = .text
    ) -> TextBox? {
        var pixels = max(9, min(Int(points * scale * 4 / 3 * 0.8), window.width / 18))
        while true {
            let box = font.draw(
                text, pixels: pixels, width: max(window.width - 4 * pixels, 60), isCentred: isCentred, colors)
            guard let box, box.size.height > window.height, pixels > 9 else { return box }
            pixels = max(9, pixels * 7 / 8)
        }
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
