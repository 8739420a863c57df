import CFontconfig
import CSDL
import Glibc
import MediaCore

/// Renders text with a font of the desktop, which fontconfig selects, through SDL_ttf.
/// - Isolation: main thread.
final class TextFont {
    private struct Face: Hashable {
        var file: String
        var index: Int32
        var pixels: Int32
    }

    private let family: String
    private let isOpen: Bool
    private var fonts: [Face: OpaquePointer] = [:]

    /// - Parameter family: as fontconfig names it.
    init(family: String = "sans-serif") {
        self.family = family
        isOpen = TTF_Init() == 0
    }

    deinit {
        for font in fonts.values { TTF_CloseFont(font) }
        if isOpen { TTF_Quit() }
    }

    /// Renders text with line breaks between words.
    /// - Parameters:
    ///   - pixels: the font's height.
    ///   - width: the maximum width of a line, in pixels.
    ///   - isCentred: centres the lines; otherwise they are left-aligned.
    /// - Returns: nil if there is no font or the text is empty.
    func draw(
        _ text: String, pixels: Int, width: Int, isCentred: Bool, _ colors: TextBox.Colors = .text
    ) -> TextBox? {
        guard let font = font(for: text, pixels: pixels) else { return nil }
        TTF_SetFontWrappedAlign(font, isCentred ? Int32(TTF_WRAPPED_ALIGN_CENTER) : Int32(TTF_WRAPPED_ALIGN_LEFT))
        let ink = SDL_Color(r: 230, g: 230, b: 230, a: 255)
        guard let surface = TTF_RenderUTF8_Blended_Wrapped(font, text, ink, UInt32(clamping: width)) else { return nil }
        defer { SDL_FreeSurface(surface) }
        guard let pixels = surface.pointee.pixels else { return nil }
        let size = PixelSize(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        func alpha(_ x: Int, _ y: Int) -> UInt32 {
            (pixels + y * Int(surface.pointee.pitch)).assumingMemoryBound(to: UInt32.self)[x] >> 24
        }
        // SDL_ttf's surface has the maximum width, so it is cropped to the inked columns.
        let inked = (0..<size.width).filter { x in (0..<size.height).contains { alpha(x, $0) > 0 } }
        guard let left = inked.first, let right = inked.last else { return nil }
        return TextBox(
            size: PixelSize(width: right - left + 1, height: size.height), margin: Int(TTF_FontHeight(font)) / 2,
            colors
        ) { alpha(left + $0, $1) }
    }

    func font(for text: String, pixels: Int) -> OpaquePointer? {
        guard isOpen, !text.isEmpty else { return nil }
        var file = [CChar](repeating: 0, count: 4_096)
        var index: Int32 = 0
        guard cfontconfig_find(family, text, &file, file.count, &index) != 0 else { return nil }
        let name = String(decoding: file.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let face = Face(file: name, index: index, pixels: Int32(clamping: pixels))
        if let font = fonts[face] { return font }
        guard let font = TTF_OpenFontIndex(name, face.pixels, Int(index)) else { return nil }
        fonts[face] = font
        return font
    }
}

/// Rendered text on a background, as BGRA pixels.
struct TextBox {
    static let background: UInt32 = 0xFF_1E_20_24

    /// 0xFFRRGGBB.
    struct Colors {
        var ink: UInt32
        var background: UInt32

        static let text = Colors(ink: 0xFF_E6_E6_E6, background: TextBox.background)
        static let button = Colors(ink: QuestionColor.ink, background: QuestionColor.line)
        /// A button of what is on.
        static let chosen = Colors(ink: QuestionColor.onAccent, background: QuestionColor.accent)
    }

    private(set) var size: PixelSize
    private(set) var pixels: [UInt32]
    /// The top left corner in the window, in pixels.
    var x = 0
    var y = 0

    /// - Parameter alpha: the coverage of a pixel of the text, 0...255.
    init(size text: PixelSize, margin: Int, _ colors: Colors, alpha: (_ x: Int, _ y: Int) -> UInt32) {
        size = PixelSize(width: text.width + 2 * margin, height: text.height + margin)
        var pixels = [UInt32](repeating: colors.background, count: size.width * size.height)
        for y in 0..<text.height {
            for x in 0..<text.width {
                let alpha = alpha(x, y)
                guard alpha > 0 else { continue }
                pixels[(y + margin / 2) * size.width + x + margin] = RenderedText.blend(
                    colors.ink, over: colors.background, alpha)
            }
        }
        self.pixels = pixels
    }

    /// The same box with more of its background above the text.
    func extended(to height: Int) -> TextBox {
        guard height > size.height, let background = pixels.first else { return self }
        var box = self
        box.pixels.insert(
            contentsOf: repeatElement(background, count: (height - size.height) * size.width), at: 0)
        box.size.height = height
        return box
    }

    /// The part of the box that is inside the window.
    func place(in window: PixelSize) -> PixelRect {
        PixelRect(x: x, y: y, width: size.width, height: size.height).clipped(to: window)
    }

    /// - Returns: the rectangle that was drawn, in window coordinates.
    func draw(into surface: PixelSurface) -> PixelRect {
        let place = place(in: surface.size)
        guard !place.isEmpty else { return place }
        pixels.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress else { return }
            for row in place.y..<place.maxY {
                (surface.pixels + row * surface.stride + place.x * 4).assumingMemoryBound(to: UInt32.self)
                    .update(from: base + (row - y) * size.width + (place.x - x), count: place.width)
            }
        }
        return place
    }
}
