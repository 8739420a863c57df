import MediaCore

/// Draws the pointers of viewers, and says which parts of the window have changed.
/// - Isolation: main thread.
final class PointerLayer {
    private let font: TextFont
    private let scale: Double
    private var shown: [PointerMark] = []
    private var layout: PictureLayout?
    private var names: [String: RenderedText] = [:]
    private var covering = BlockRectangles()
    /// Nil while there is nothing to show.
    private(set) var canvas: PointerCanvas?
    /// The parts of the window that have ink.
    private(set) var inked: [PixelRect] = []

    private static let nameLimit = 64
    /// In all lines, so that drawing takes some milliseconds at most.
    private static let pointLimit = 8_192

    init(font: TextFont, scale: Double) { (self.font, self.scale) = (font, scale) }

    /// Draws what is to be shown now.
    /// - Returns: the parts of the window that look different from before; they may overlap.
    func update(_ marks: [PointerMark], in layout: PictureLayout) -> [PixelRect] {
        guard marks != shown || layout != self.layout && !shown.isEmpty else { return [] }
        let old = inked
        if canvas?.size == layout.window { canvas?.clear(old) } else { canvas = nil }
        inked = []
        (shown, self.layout) = (marks, layout)
        guard !marks.isEmpty, !layout.destination.isEmpty else {
            canvas = nil
            return old
        }
        var canvas = self.canvas ?? PointerCanvas(layout.window)
        self.canvas = nil
        canvas.clip = layout.destination
        draw(marks, layout, &canvas)
        covering.update(covering: canvas.inked)
        inked = covering.rectangles
        self.canvas = canvas
        return old + inked
    }

    /// Arrows lie over rings, and rings over lines.
    private func draw(_ marks: [PointerMark], _ layout: PictureLayout, _ canvas: inout PointerCanvas) {
        var points = Self.pointLimit
        for mark in marks {
            for line in mark.lines {
                let drawn = line.points.suffix(points)
                points -= drawn.count
                canvas.stroke(drawn.map(layout.position(of:)), mark.color, opacity: line.opacity, scale: scale)
            }
        }
        for mark in marks {
            for ring in mark.rings {
                canvas.ring(
                    layout.position(of: ring.center), radius: (5 + 17 * ring.progress) * scale, mark.color,
                    opacity: 1 - ring.progress * 0.8, scale: scale)
            }
        }
        for mark in marks {
            guard let point = mark.tip else { continue }
            let tip = layout.position(of: point)
            if let text = rendered(mark.name) { draw(text, beside: tip, mark, &canvas) }
            canvas.arrow(tip, mark.color, opacity: mark.opacity, scale: scale)
        }
    }

    /// Right of the pointer and below it, or on the other side where the picture ends.
    private func draw(
        _ text: RenderedText, beside tip: (x: Double, y: Double), _ mark: PointerMark, _ canvas: inout PointerCanvas
    ) {
        let margin = Int(5 * scale)
        let size = PixelSize(width: text.size.width + 2 * margin, height: text.size.height + Int(2 * scale))
        var place = (x: Int(tip.x + 11 * scale), y: Int(tip.y + 17 * scale))
        if place.x + size.width > canvas.clip.maxX { place.x = Int(tip.x - 3 * scale) - size.width }
        if place.y + size.height > canvas.clip.maxY { place.y = Int(tip.y - 3 * scale) - size.height }
        canvas.label(
            text, in: PixelRect(x: place.x, y: place.y, width: size.width, height: size.height), margin: margin,
            mark.color, opacity: mark.opacity)
    }

    private func rendered(_ name: String) -> RenderedText? {
        if let text = names[name] { return text }
        if names.count >= Self.nameLimit { names = [:] }
        let text = font.render(name, pixels: Int(13 * scale), width: 10_000, ink: 0xFF_FF_FF_FF)
        names[name] = text
        return text
    }
}
