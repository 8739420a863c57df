import MediaCore

/// A transparent layer over a window, on which pointers are drawn. It remembers the blocks of 16 x 16 pixels that have
/// ink.
struct PointerCanvas {
    let size: PixelSize
    /// 0xAARRGGBB in rows, not premultiplied.
    private(set) var pixels: [UInt32]
    private(set) var inked: BlockMap
    /// Nothing is drawn outside of it.
    var clip: PixelRect

    /// The light edge around everything, so that it is seen on any picture. In pixels at a scale of 1.
    private static let edge = 1.3
    private static let white: UInt32 = 0xFF_FF_FF

    init(_ size: PixelSize) {
        self.size = size
        pixels = [UInt32](repeating: 0, count: size.width * size.height)
        inked = BlockMap(size)
        clip = PixelRect(size)
    }

    /// Removes all ink.
    mutating func clear(_ rectangles: [PixelRect]) {
        for rect in rectangles {
            for row in rect.y..<rect.maxY {
                let start = row * size.width + rect.x
                for index in start..<(start + rect.width) { pixels[index] = 0 }
            }
        }
        inked.clear()
    }

    // MARK: Shapes

    /// Draws a line through points of the window.
    mutating func stroke(_ points: [(x: Double, y: Double)], _ color: UInt32, opacity: Double, scale: Double) {
        guard let first = points.first else { return }
        let segments = points.count == 1 ? [(first, first)] : Array(zip(points, points.dropFirst()))
        let radius = 1.7 * scale
        for (extra, ink) in [(Self.edge * scale, Self.white), (0, color)] {
            for (from, to) in segments {
                let reach = radius + extra
                fill(
                    from: (min(from.x, to.x) - reach, min(from.y, to.y) - reach),
                    to: (max(from.x, to.x) + reach, max(from.y, to.y) + reach), ink, opacity
                ) { x, y in reach - Self.distance((x, y), from, to) }
            }
        }
    }

    mutating func ring(
        _ center: (x: Double, y: Double), radius: Double, _ color: UInt32, opacity: Double, scale: Double
    ) {
        for (half, ink) in [((1.5 + Self.edge) * scale, Self.white), (1.5 * scale, color)] {
            let reach = radius + half
            fill(
                from: (center.x - reach, center.y - reach), to: (center.x + reach, center.y + reach), ink, opacity
            ) { x, y in
                let (across, down) = (x - center.x, y - center.y)
                return half - abs((across * across + down * down).squareRoot() - radius)
            }
        }
    }

    /// Draws a pointer whose tip is at this place.
    mutating func arrow(_ tip: (x: Double, y: Double), _ color: UInt32, opacity: Double, scale: Double) {
        let corners = Self.arrow.map { (x: tip.x + $0.x * scale, y: tip.y + $0.y * scale) }
        let sides = Array(zip(corners, corners.dropFirst() + corners.prefix(1)))
        for (extra, ink) in [(Self.edge * scale, Self.white), (0, color)] {
            fill(
                from: (tip.x - extra - 1, tip.y - extra - 1),
                to: (tip.x + 14 * scale + extra, tip.y + 22 * scale + extra), ink, opacity
            ) { x, y in
                var distance = Double.infinity
                var isInside = false
                for (from, to) in sides {
                    distance = min(distance, Self.distance((x, y), from, to))
                    if (from.y > y) != (to.y > y), x < (to.x - from.x) * (y - from.y) / (to.y - from.y) + from.x {
                        isInside.toggle()
                    }
                }
                return extra + (isInside ? distance : -distance)
            }
        }
    }

    /// Of a pointer 20 pixels high, its tip at 0, 0.
    private static let arrow: [(x: Double, y: Double)] = [
        (0, 0), (0, 17), (3.9, 13.3), (6.7, 19.8), (9.5, 18.6), (6.8, 12.3), (12, 12),
    ]

    /// Draws light text on a coloured box.
    mutating func label(_ text: RenderedText, in box: PixelRect, margin: Int, _ color: UInt32, opacity: Double) {
        let (left, top) = (Double(box.x), Double(box.y))
        let radius = min(3, Double(box.height) / 2)
        let (right, bottom) = (left + Double(box.width), top + Double(box.height))
        fill(from: (left, top), to: (right, bottom), color, opacity) { x, y in
            let across = max(left + radius - x, x - right + radius, 0)
            let down = max(top + radius - y, y - bottom + radius, 0)
            return radius - (across * across + down * down).squareRoot() - 0.5
        }
        let (x, y) = (box.x + margin, box.y + (box.height - text.size.height) / 2)
        for row in 0..<text.size.height {
            for column in 0..<text.size.width {
                let covered = text.alpha(column, row)
                guard covered > 0, (clip.x..<clip.maxX).contains(x + column), (clip.y..<clip.maxY).contains(y + row)
                else { continue }
                Self.put(
                    Self.white, Double(covered) / 255 * opacity, over: &pixels[(y + row) * size.width + x + column])
            }
        }
    }

    // MARK: Pixels

    /// - Parameter depth: how far inside the shape the middle of a pixel is, in pixels; negative outside.
    @inline(__always)
    private mutating func fill(
        from: (x: Double, y: Double), to: (x: Double, y: Double), _ ink: UInt32, _ opacity: Double,
        depth: (Double, Double) -> Double
    ) {
        let (left, top) = (max(Int(from.x) - 1, clip.x), max(Int(from.y) - 1, clip.y))
        let (right, bottom) = (min(Int(to.x) + 2, clip.maxX), min(Int(to.y) + 2, clip.maxY))
        guard left < right, top < bottom else { return }
        inked.insert(PixelRect(x: left, y: top, width: right - left, height: bottom - top))
        let width = size.width
        pixels.withUnsafeMutableBufferPointer { pixels in
            for y in top..<bottom {
                for x in left..<right {
                    let depth = depth(Double(x) + 0.5, Double(y) + 0.5) + 0.5
                    if depth > 0 { Self.put(ink, min(depth, 1) * opacity, over: &pixels[y * width + x]) }
                }
            }
        }
    }

    private static func put(_ ink: UInt32, _ opacity: Double, over pixel: inout UInt32) {
        let alpha = UInt32(min(max(opacity, 0), 1) * 255)
        guard alpha > 0 else { return }
        let under = pixel
        let underAlpha = under >> 24
        guard under & 0xFF_FF_FF != ink || underAlpha == 0 else {
            // A line that crosses itself is not darker there.
            if alpha > underAlpha { pixel = alpha << 24 | ink }
            return
        }
        let rest = underAlpha * (255 - alpha) / 255
        let all = alpha + rest
        var mixed = all << 24
        for shift in [UInt32(16), 8, 0] {
            let channel = ((ink >> shift & 255) * alpha + (under >> shift & 255) * rest) / all
            mixed |= channel << shift
        }
        pixel = mixed
    }

    /// From a point to a piece of a line.
    private static func distance(
        _ point: (x: Double, y: Double), _ from: (x: Double, y: Double), _ to: (x: Double, y: Double)
    ) -> Double {
        let (width, height) = (to.x - from.x, to.y - from.y)
        let square = width * width + height * height
        let part = square == 0 ? 0 : ((point.x - from.x) * width + (point.y - from.y) * height) / square
        let along = min(max(part, 0), 1)
        let (x, y) = (point.x - from.x - along * width, point.y - from.y - along * height)
        return (x * x + y * y).squareRoot()
    }

    /// Blends a rectangle of the layer over the window's pixels.
    func blend(_ rect: PixelRect, into surface: PixelSurface) {
        let rect = rect.clipped(to: surface.size).clipped(to: size)
        guard !rect.isEmpty else { return }
        for y in rect.y..<rect.maxY {
            let line = (surface.pixels + y * surface.stride).assumingMemoryBound(to: UInt32.self)
            for x in rect.x..<rect.maxX {
                let ink = pixels[y * size.width + x]
                let alpha = ink >> 24
                if alpha > 0 { line[x] = RenderedText.blend(ink, over: line[x], alpha) }
            }
        }
    }
}
