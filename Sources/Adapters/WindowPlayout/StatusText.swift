import MediaCore

/// Draws a sentence in the middle of BGRA pixels: light letters on a dark field.
struct StatusText {
    static let field: UInt32 = 0xFF_1E_20_24
    static let ink: UInt32 = 0xFF_E6_E6_E6

    let size: PixelSize
    let lines: [[UInt8]]
    /// Pixels for a dot of the font.
    let scale: Int
    /// The field behind the letters.
    let box: PixelRect

    init(_ text: String, in size: PixelSize) {
        self.size = size
        scale = min(max(size.width / 320, 1), 4)
        let cell = BlockFont.width * scale
        lines = BlockFont.lines(text, columns: (size.width - 4 * cell) / cell)
        let width = ((lines.map(\.count).max() ?? 0) + 2) * cell
        let height = (lines.count + 1) * BlockFont.height * scale
        box = PixelRect(x: (size.width - width) / 2, y: (size.height - height) / 2, width: width, height: height)
            .clipped(to: size)
    }

    /// - Parameter stride: in bytes.
    func draw(into pixels: UnsafeMutableRawPointer, stride: Int) {
        fill(box, Self.field, pixels, stride)
        let font = BlockFont.shared
        let lineHeight = BlockFont.height * scale
        let top = (size.height - lines.count * lineHeight) / 2 + scale
        for (index, line) in lines.enumerated() {
            var x = (size.width - line.count * BlockFont.width * scale) / 2
            for character in line {
                for (row, dots) in font.dots(character).enumerated() {
                    for column in 0..<5 where dots & (16 >> UInt8(column)) != 0 {
                        let dot = PixelRect(
                            x: x + column * scale, y: top + index * lineHeight + row * scale, width: scale,
                            height: scale)
                        fill(dot.clipped(to: size), Self.ink, pixels, stride)
                    }
                }
                x += BlockFont.width * scale
            }
        }
    }

    private func fill(_ rect: PixelRect, _ colour: UInt32, _ pixels: UnsafeMutableRawPointer, _ stride: Int) {
        guard !rect.isEmpty else { return }
        for y in rect.y..<rect.maxY {
            (pixels + y * stride + rect.x * 4).assumingMemoryBound(to: UInt32.self)
                .update(repeating: colour, count: rect.width)
        }
    }
}
