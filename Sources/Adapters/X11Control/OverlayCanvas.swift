internal import CXCB
internal import MediaCore

/// Draws on a window or a pixmap of the screen's depth, or the same on a mask, in which all that is drawn is 1.
struct OverlayCanvas {
    private let connection: OverlayConnection
    private let drawable: xcb_drawable_t
    private let isMask: Bool
    /// Rectangles in one request.
    private static let rectangleLimit = 4_000

    init(_ connection: OverlayConnection, _ drawable: xcb_drawable_t, isMask: Bool) {
        (self.connection, self.drawable, self.isMask) = (connection, drawable, isMask)
    }

    private var context: xcb_gcontext_t { isMask ? connection.maskContext : connection.context }

    /// - Parameters:
    ///   - color: 0xRRGGBB.
    ///   - width: of lines, in pixels.
    func setPen(_ color: UInt32, width: Int = 1) { setPixel(isMask ? 1 : connection.pixel(color), width) }

    private func setPixel(_ pixel: UInt32, _ width: Int) {
        let values = [pixel, UInt32(clamping: width)]
        xcb_change_gc(
            connection.raw, context, UInt32(XCB_GC_FOREGROUND.rawValue | XCB_GC_LINE_WIDTH.rawValue), values)
    }

    /// Sets all of a mask to 0.
    func clear(_ size: PixelSize) {
        setPixel(0, 1)
        fill([PixelRect(size)])
    }

    func line(_ points: [ScreenPoint]) {
        let points = Self.points(points)
        xcb_poly_line(
            connection.raw, UInt8(XCB_COORD_MODE_ORIGIN.rawValue), drawable, context, UInt32(points.count), points)
    }

    func polygon(_ points: [ScreenPoint]) {
        let points = Self.points(points)
        xcb_fill_poly(
            connection.raw, drawable, context, UInt8(XCB_POLY_SHAPE_COMPLEX.rawValue),
            UInt8(XCB_COORD_MODE_ORIGIN.rawValue), UInt32(points.count), points)
    }

    func circle(_ center: ScreenPoint, radius: Int) {
        var arc = Self.arc(center, radius)
        xcb_poly_arc(connection.raw, drawable, context, 1, &arc)
    }

    func disc(_ center: ScreenPoint, radius: Int) {
        var arc = Self.arc(center, radius)
        xcb_poly_fill_arc(connection.raw, drawable, context, 1, &arc)
    }

    func fill(_ rectangles: [PixelRect]) {
        let all = rectangles.map {
            xcb_rectangle_t(
                x: Int16(clamping: $0.x), y: Int16(clamping: $0.y), width: UInt16(clamping: $0.width),
                height: UInt16(clamping: $0.height))
        }
        for start in stride(from: 0, to: all.count, by: Self.rectangleLimit) {
            let part = Array(all[start..<min(start + Self.rectangleLimit, all.count)])
            xcb_poly_fill_rectangle(connection.raw, drawable, context, UInt32(part.count), part)
        }
    }

    func draw(_ label: OverlayLabel, x: Int, y: Int) {
        if isMask {
            setPen(0)
            fill([PixelRect(x: x, y: y, width: label.size.width, height: label.size.height)])
        } else {
            xcb_copy_area(
                connection.raw, label.pixmap, drawable, context, 0, 0, Int16(clamping: x), Int16(clamping: y),
                UInt16(clamping: label.size.width), UInt16(clamping: label.size.height))
        }
    }

    private static func points(_ points: [ScreenPoint]) -> [xcb_point_t] {
        points.map { xcb_point_t(x: Int16(clamping: $0.x), y: Int16(clamping: $0.y)) }
    }

    private static func arc(_ center: ScreenPoint, _ radius: Int) -> xcb_arc_t {
        xcb_arc_t(
            x: Int16(clamping: center.x - radius), y: Int16(clamping: center.y - radius),
            width: UInt16(clamping: 2 * radius), height: UInt16(clamping: 2 * radius), angle1: 0, angle2: 360 * 64)
    }
}

/// A line of text on a filled background: a pixmap of the server.
struct OverlayLabel {
    let pixmap: xcb_pixmap_t
    let size: PixelSize

    /// - Parameters:
    ///   - background: 0xRRGGBB.
    ///   - width: at the most, in pixels.
    /// - Returns: nil if there is no font, or nothing visible in the text.
    init?(
        _ text: String, background: UInt32, width: Int, _ rasterizer: TextRasterizer?, _ connection: OverlayConnection
    ) {
        let margin = Int(4 * connection.scale)
        guard let text = rasterizer?.render(text, width: width - 2 * margin) else { return nil }
        size = PixelSize(width: text.size.width + 2 * margin, height: text.size.height + margin)
        pixmap = connection.pixmap(size, isMask: false)
        let canvas = OverlayCanvas(connection, pixmap, isMask: false)
        canvas.setPen(background)
        canvas.fill([PixelRect(size)])
        // What has the same level of coverage is drawn by one request.
        for (level, rectangles) in text.runs(x: margin, y: margin / 2).enumerated() where !rectangles.isEmpty {
            canvas.setPen(Self.mix(Self.ink(on: background), background, UInt32(level + 1)))
            canvas.fill(rectangles)
        }
    }

    /// White or black, whichever is easier to read.
    private static func ink(on background: UInt32) -> UInt32 {
        let luma = (background >> 16 & 0xFF) * 299 + (background >> 8 & 0xFF) * 587 + (background & 0xFF) * 114
        return luma > 150_000 ? 0 : 0xFF_FFFF
    }

    /// - Parameter level: of `ink`, up to `RenderedText.levels`.
    private static func mix(_ ink: UInt32, _ background: UInt32, _ level: UInt32) -> UInt32 {
        let all = UInt32(RenderedText.levels)
        return [16, 8, 0].reduce(0) { color, shift in
            let mixed = ((ink >> shift & 0xFF) * level + (background >> shift & 0xFF) * (all - level)) / all
            return color | mixed << shift
        }
    }
}

extension RenderedText {
    /// Levels of coverage above none.
    static let levels = 8

    /// Runs of pixels in a row by their level, the lowest first.
    /// - Parameters: where the text begins.
    func runs(x: Int, y: Int) -> [[PixelRect]] {
        var runs = [[PixelRect]](repeating: [], count: Self.levels)
        for row in 0..<size.height {
            var column = 0
            while column < size.width {
                func level(_ column: Int) -> Int {
                    (Int(coverage[row * size.width + column]) * Self.levels + 127) / 255
                }
                let (begin, current) = (column, level(column))
                repeat { column += 1 } while column < size.width && level(column) == current
                guard current > 0 else { continue }
                runs[current - 1].append(PixelRect(x: x + begin, y: y + row, width: column - begin, height: 1))
            }
        }
        return runs
    }
}
