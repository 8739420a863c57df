internal import CFontconfig
internal import CFreeType
internal import MediaCore

/// One line of text as coverage of pixels, 0 to 255, row by row.
struct RenderedText {
    let size: PixelSize
    var coverage: [UInt8]
}

/// Renders a line of text from left to right with the desktop's fonts, which fontconfig selects. Letters are not
/// joined, as FreeType alone does not shape. Used by one thread at a time; each value has a FreeType of its own.
final class TextRasterizer {
    private struct Face: Hashable {
        var file: String
        var index: Int32
    }

    private struct Glyph {
        var x: Int
        /// Above the base line.
        var top: Int
        var size: PixelSize
        var coverage: [UInt8]
    }

    private let library: FT_Library
    private let pixels: Int
    /// Nil: it cannot be used.
    private var faces: [Face: FT_Face?] = [:]
    /// The faces of characters that the text's own face lacks; few, as a line is short.
    private static let characterLimit = 200

    /// - Parameter pixels: the font's height.
    /// - Returns: nil if FreeType does not start.
    init?(pixels: Int) {
        var library: FT_Library?
        guard FT_Init_FreeType(&library) == 0, let library else { return nil }
        self.library = library
        self.pixels = pixels
    }

    // The faces end with their library.
    deinit { FT_Done_FreeType(library) }

    /// - Parameter width: at the most, in pixels; what goes over it is cut.
    /// - Returns: nil if there is no font, or nothing visible in the text.
    func render(_ text: String, width: Int) -> RenderedText? {
        guard let main = face(for: text) else { return nil }
        var glyphs: [Glyph] = []
        var (pen, ascent, descent) = (0, Self.ascent(main), Self.descent(main))
        for scalar in text.unicodeScalars.prefix(Self.characterLimit) where pen < width {
            var face = main
            if FT_Get_Char_Index(main, FT_ULong(scalar.value)) == 0, let other = self.face(for: String(scalar)) {
                face = other
            }
            guard cfreetype_render(face, UInt(scalar.value)) == 0, let slot = face.pointee.glyph?.pointee else {
                continue
            }
            ascent = max(ascent, min(Self.ascent(face), pixels * 2))
            descent = max(descent, min(Self.descent(face), pixels))
            if let glyph = Self.glyph(slot, pen: pen) { glyphs.append(glyph) }
            pen += Int(slot.advance.x) >> 6
        }
        let right = glyphs.map { $0.x + $0.size.width }.max() ?? 0
        let size = PixelSize(width: min(max(pen, right), width), height: ascent + descent)
        guard !glyphs.isEmpty, size.width > 0, size.height > 0 else { return nil }
        var rendered = RenderedText(
            size: size, coverage: [UInt8](repeating: 0, count: size.width * size.height))
        for glyph in glyphs { rendered.add(glyph.coverage, glyph.size, x: glyph.x, y: ascent - glyph.top) }
        return rendered
    }

    private static func ascent(_ face: FT_Face) -> Int { Int(face.pointee.size?.pointee.metrics.ascender ?? 0) >> 6 }
    private static func descent(_ face: FT_Face) -> Int {
        max(-Int(face.pointee.size?.pointee.metrics.descender ?? 0) >> 6, 0)
    }

    private static func glyph(_ slot: FT_GlyphSlotRec_, pen: Int) -> Glyph? {
        let bitmap = slot.bitmap
        guard UInt32(bitmap.pixel_mode) == FT_PIXEL_MODE_GRAY.rawValue, bitmap.pitch > 0, let rows = bitmap.buffer
        else {
            return nil
        }
        let size = PixelSize(width: Int(bitmap.width), height: Int(bitmap.rows))
        var coverage: [UInt8] = []
        for row in 0..<size.height {
            coverage += UnsafeBufferPointer(start: rows + row * Int(bitmap.pitch), count: size.width)
        }
        return Glyph(x: pen + Int(slot.bitmap_left), top: Int(slot.bitmap_top), size: size, coverage: coverage)
    }

    /// The face that has as many of the characters as any.
    private func face(for text: String) -> FT_Face? {
        var file = [CChar](repeating: 0, count: 4_096)
        var index: Int32 = 0
        guard cfontconfig_find("sans-serif", text, &file, file.count, &index) != 0 else { return nil }
        let name = String(decoding: file.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let key = Face(file: name, index: index)
        if let known = faces[key] { return known }
        var face: FT_Face?
        let isOpen = FT_New_Face(library, name, FT_Long(index), &face) == 0
        if !isOpen || FT_Set_Pixel_Sizes(face, 0, UInt32(clamping: pixels)) != 0 { face = nil }
        faces[key] = .some(face)
        return face
    }
}

extension RenderedText {
    /// Puts a glyph into the picture; what lies outside of it is left out.
    fileprivate mutating func add(_ glyph: [UInt8], _ glyphSize: PixelSize, x: Int, y: Int) {
        for row in 0..<glyphSize.height where (0..<size.height).contains(y + row) {
            for column in 0..<glyphSize.width where (0..<size.width).contains(x + column) {
                let index = (y + row) * size.width + x + column
                coverage[index] = max(coverage[index], glyph[row * glyphSize.width + column])
            }
        }
    }
}
