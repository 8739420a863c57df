internal import MediaCore

/// A colour in BT.601, limited range.
struct YUVColor {
    var y: UInt8
    var u: UInt8
    var v: UInt8

    static let black = YUVColor(y: 16, u: 128, v: 128)
    static let white = YUVColor(y: 235, u: 128, v: 128)
    static let grey = YUVColor(y: 126, u: 128, v: 128)
    static let red = YUVColor(y: 82, u: 90, v: 240)
    static let green = YUVColor(y: 145, u: 54, v: 34)
    static let blue = YUVColor(y: 41, u: 240, v: 110)
    static let yellow = YUVColor(y: 210, u: 16, v: 146)
}

extension TestPattern {
    func drawAll(_ frame: Int, on canvas: I420Buffer) {
        canvas.fill(PixelRect(size), .grey)
        canvas.fill(red, .red)
        canvas.fill(green, .green)
        canvas.fill(blue, .blue)
        canvas.fill(white, .white)
        drawText(on: canvas)
        canvas.fill(track, .black)
        canvas.fill(cells[0], .white)
        canvas.fill(cells[1], .black)
        for bit in 0..<Self.bits { drawBit(bit, of: frame, on: canvas) }
        canvas.fill(bar(frame), .yellow)
    }

    /// Draws the differences between two frames, all of which are on the block grid. Allocates nothing.
    /// - Parameters:
    ///   - old: the frame that the canvas shows.
    ///   - changed: the drawn blocks are added.
    func drawMoving(_ frame: Int, old: Int, on canvas: I420Buffer, changed: inout BlockMap) {
        for bit in 0..<Self.bits where Self.bit(bit, of: old) != Self.bit(bit, of: frame) {
            drawBit(bit, of: frame, on: canvas)
            changed.insert(cells[bit + 2])
        }
        let (from, to) = (bar(old), bar(frame))
        guard from != to else { return }
        canvas.fill(from, .black)
        canvas.fill(to, .yellow)
        changed.insert(from)
        changed.insert(to)
    }

    private func drawBit(_ bit: Int, of frame: Int, on canvas: I420Buffer) {
        canvas.fill(cells[bit + 2], Self.bit(bit, of: frame) ? .white : .black)
    }

    /// Draws lines of glyphs of 5 x 7 dots, chosen by a fixed seed.
    private func drawText(on canvas: I420Buffer) {
        canvas.fill(text, .white)
        var state: UInt64 = 20
        for top in stride(from: text.y + 3, to: text.maxY - 10, by: 13) {
            for left in stride(from: text.x + 3, to: text.maxX - 8, by: 8) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let glyph = state >> 20
                if glyph >> 40 & 7 == 0 { continue }
                for dot in 0..<35 where glyph >> dot & 1 == 1 {
                    canvas.y[(top + dot / 5) * canvas.strideY + left + dot % 5] = 30
                }
            }
        }
    }
}

extension I420Buffer {
    /// - Parameter rect: inside the canvas, with even coordinates and size.
    fileprivate func fill(_ rect: PixelRect, _ color: YUVColor) {
        for row in rect.y..<rect.maxY { (y + row * strideY + rect.x).update(repeating: color.y, count: rect.width) }
        for row in rect.y / 2..<rect.maxY / 2 {
            (u + row * strideC + rect.x / 2).update(repeating: color.u, count: rect.width / 2)
            (v + row * strideC + rect.x / 2).update(repeating: color.v, count: rect.width / 2)
        }
    }
}
