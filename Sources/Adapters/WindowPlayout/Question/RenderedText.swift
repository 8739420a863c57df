import CSDL
import MediaCore

/// Text as coverage, to be drawn in any colour.
struct RenderedText {
    let size: PixelSize
    let ink: UInt32
    /// 0...255 for each pixel, in rows.
    private let coverage: [UInt8]

    fileprivate init(size: PixelSize, ink: UInt32, coverage: [UInt8]) {
        self.size = size
        self.ink = ink
        self.coverage = coverage
    }

    /// The coverage of a pixel, 0...255.
    func alpha(_ x: Int, _ y: Int) -> UInt8 { coverage[y * size.width + x] }

    /// Draws the part that is inside `clip`.
    func draw(into surface: PixelSurface, x: Int, y: Int, clip: PixelRect, ink: UInt32? = nil) {
        let ink = ink ?? self.ink
        let window = clip.clipped(to: surface.size)
        for row in max(y, window.y)..<max(max(y, window.y), min(y + size.height, window.maxY)) {
            let target = (surface.pixels + row * surface.stride).assumingMemoryBound(to: UInt32.self)
            for column in max(x, window.x)..<max(max(x, window.x), min(x + size.width, window.maxX)) {
                let alpha = UInt32(coverage[(row - y) * size.width + column - x])
                if alpha > 0 { target[column] = Self.blend(ink, over: target[column], alpha) }
            }
        }
    }

    /// An opaque pixel of a colour over another.
    /// - Parameter alpha: of the colour, 0...255.
    static func blend(_ ink: UInt32, over background: UInt32, _ alpha: UInt32) -> UInt32 {
        var pixel: UInt32 = 0xFF
        for shift in [UInt32(16), 8, 0] {
            let (from, to) = (background >> shift & 0xFF, ink >> shift & 0xFF)
            pixel = pixel << 8 | (to * alpha + from * (255 - alpha)) / 255
        }
        return pixel
    }
}

extension TextFont {
    /// Renders text with line breaks between words, left-aligned.
    /// - Parameter width: of a line, in pixels.
    /// - Returns: nil if there is no font or the text is empty.
    func render(_ text: String, pixels: Int, width: Int, ink: UInt32) -> RenderedText? {
        guard let font = font(for: text, pixels: pixels) else { return nil }
        TTF_SetFontWrappedAlign(font, Int32(TTF_WRAPPED_ALIGN_LEFT))
        let white = SDL_Color(r: 255, g: 255, b: 255, a: 255)
        guard let surface = TTF_RenderUTF8_Blended_Wrapped(font, text, white, UInt32(clamping: max(width, 1))) else {
            return nil
        }
        defer { SDL_FreeSurface(surface) }
        guard let source = surface.pointee.pixels else { return nil }
        let (full, height, pitch) = (Int(surface.pointee.w), Int(surface.pointee.h), Int(surface.pointee.pitch))
        var alpha = [UInt8](repeating: 0, count: full * height)
        var inked = 1
        for row in 0..<height {
            let line = (source + row * pitch).assumingMemoryBound(to: UInt32.self)
            for column in 0..<full where line[column] >> 24 > 0 {
                alpha[row * full + column] = UInt8(line[column] >> 24)
                inked = max(inked, column + 1)
            }
        }
        // SDL_ttf's surface has the maximum width.
        let coverage = (0..<height).flatMap { alpha[($0 * full)..<($0 * full + inked)] }
        return RenderedText(size: PixelSize(width: inked, height: height), ink: ink, coverage: coverage)
    }
}

extension PixelSurface {
    func fill(_ rect: PixelRect, _ color: UInt32) {
        let rect = rect.clipped(to: size)
        guard !rect.isEmpty else { return }
        for row in rect.y..<rect.maxY {
            (pixels + row * stride).assumingMemoryBound(to: UInt32.self).advanced(by: rect.x)
                .update(repeating: color, count: rect.width)
        }
    }

    func frame(_ rect: PixelRect, _ color: UInt32, width: Int) {
        fill(PixelRect(x: rect.x, y: rect.y, width: rect.width, height: width), color)
        fill(PixelRect(x: rect.x, y: rect.maxY - width, width: rect.width, height: width), color)
        fill(PixelRect(x: rect.x, y: rect.y, width: width, height: rect.height), color)
        fill(PixelRect(x: rect.maxX - width, y: rect.y, width: width, height: rect.height), color)
    }
}
