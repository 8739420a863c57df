internal import CXCB
internal import MediaCore

/// Draws viewers' pointers: an arrow with the name beside it, lines and rings.
final class PointerDrawing {
    private struct LabelKey: Hashable {
        var name: String
        var color: UInt32
    }

    private let connection: OverlayConnection
    private let rasterizer: TextRasterizer?
    /// Of those that were drawn last; nil: it has nothing visible.
    private var labels: [LabelKey: OverlayLabel?] = [:]

    /// In pixels at a scale of 1.
    private static let lineWidth = 4.0
    private static let haloWidth = 2.0
    private static let ringRadius = 26.0
    private static let textHeight = 14.0
    private static let labelWidth = 240.0
    private static let labelOffset = (x: 14.0, y: 20.0)
    /// From the tip.
    private static let arrow: [(x: Double, y: Double)] = [
        (0, 0), (0, 20), (4.7, 15.6), (8.6, 23.8), (11.8, 22.4), (8.1, 14.3), (14.3, 14.3),
    ]

    init(_ connection: OverlayConnection) {
        self.connection = connection
        rasterizer = TextRasterizer(pixels: Int(Self.textHeight * connection.scale))
    }

    private func pixels(_ length: Double) -> Int { max(Int((length * connection.scale).rounded()), 1) }

    /// Makes the labels that are needed, and frees others.
    func prepare(_ marks: [PointerMark]) {
        let keys = Set(marks.filter { $0.tip != nil }.map { LabelKey(name: $0.name, color: $0.color) })
        for (key, label) in labels where !keys.contains(key) {
            if let label { xcb_free_pixmap(connection.raw, label.pixmap) }
            labels[key] = nil
        }
        for key in keys where labels[key] == nil {
            labels[key] = .some(
                OverlayLabel(
                    key.name, background: key.color, width: pixels(Self.labelWidth), rasterizer, connection))
        }
    }

    /// Draws the pointers, after `prepare`. The last viewer's lie above the others'.
    /// - Parameter size: of the picture on the canvas.
    func draw(_ marks: [PointerMark], _ size: PixelSize, on canvas: OverlayCanvas) {
        for mark in marks {
            for line in mark.lines { draw(line.points.map { place($0, size) }, mark.color, on: canvas) }
            for ring in mark.rings {
                let radius = pixels(Self.ringRadius * (0.2 + 0.8 * ring.progress))
                canvas.setPen(mark.color, width: pixels(Self.lineWidth))
                canvas.circle(place(ring.center, size), radius: radius)
            }
        }
        for mark in marks {
            guard let tip = mark.tip.map({ place($0, size) }) else { continue }
            let outline = Self.arrow.map {
                ScreenPoint(
                    x: tip.x + Int(($0.x * connection.scale).rounded()),
                    y: tip.y + Int(($0.y * connection.scale).rounded()))
            }
            canvas.setPen(0xFF_FFFF, width: 1 + 2 * pixels(Self.haloWidth))
            canvas.line(outline + outline.prefix(1))
            canvas.setPen(mark.color)
            canvas.polygon(outline)
            guard let label = labels[LabelKey(name: mark.name, color: mark.color)].flatMap({ $0 }) else { continue }
            // Within the picture.
            let x = min(tip.x + pixels(Self.labelOffset.x), size.width - label.size.width)
            let y = min(tip.y + pixels(Self.labelOffset.y), size.height - label.size.height)
            canvas.draw(label, x: max(x, 0), y: max(y, 0))
        }
    }

    private func draw(_ points: [ScreenPoint], _ color: UInt32, on canvas: OverlayCanvas) {
        let width = pixels(Self.lineWidth)
        canvas.setPen(color, width: width)
        if points.count > 1 {
            canvas.line(points)
        } else if let point = points.first {
            canvas.disc(point, radius: max(width / 2, 1))
        }
    }

    private func place(_ point: PicturePoint, _ size: PixelSize) -> ScreenPoint {
        let pixel = point.pixel(width: size.width, height: size.height)
        return ScreenPoint(x: pixel.x, y: pixel.y)
    }
}
