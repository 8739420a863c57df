import MediaCore
import PixelConversion
import Testing

@Suite struct YUVConverterTests {
    private let converter = YUVConverter()
    private let size = PixelSize(width: 64, height: 32)

    /// A canvas in one colour, converted from BGRA.
    private func canvas(blue: UInt8, green: UInt8, red: UInt8) -> I420Buffer {
        let canvas = I420Buffer(size)
        var pixels: [UInt8] = []
        for _ in 0..<size.width * size.height { pixels += [blue, green, red, 0] }
        pixels.withUnsafeBytes {
            converter.convert(bgra: $0.baseAddress!, stride: size.width * 4, to: PixelRect(size), of: canvas)
        }
        return canvas
    }

    @Test(
        arguments: [
            // Red, green, blue -> Y, U, V in BT.601, limited range.
            ([255, 0, 0], [82, 90, 240]), ([0, 255, 0], [145, 54, 34]), ([0, 0, 255], [41, 240, 110]),
            ([255, 255, 255], [235, 128, 128]), ([0, 0, 0], [16, 128, 128]),
        ] as [([UInt8], [Int])])
    func coloursAreLimitedRangeBT601(rgb: [UInt8], yuv: [Int]) {
        let canvas = canvas(blue: rgb[2], green: rgb[1], red: rgb[0])
        #expect(abs(Int(canvas.y[0]) - yuv[0]) <= 2)
        #expect(abs(Int(canvas.u[0]) - yuv[1]) <= 2)
        #expect(abs(Int(canvas.v[0]) - yuv[2]) <= 2)
    }

    @Test func coloursSurviveTheWayThereAndBack() {
        let canvas = canvas(blue: 40, green: 180, red: 90)
        var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
        pixels.withUnsafeMutableBytes {
            converter.convert(
                canvas.frame, rect: PixelRect(size), toBGRA: $0.baseAddress!, stride: size.width * 4)
        }
        for (got, wanted) in zip(pixels[0..<4], [40, 180, 90, 255]) { #expect(abs(Int(got) - wanted) <= 3) }
        #expect(pixels[0..<4] == pixels[(pixels.count - 4)...])
    }

    @Test func onlyTheRectangleIsWritten() {
        let canvas = I420Buffer(size)
        let white = [UInt8](repeating: 255, count: 6 * 4 * 4)
        let rect = PixelRect(x: 18, y: 10, width: 6, height: 4)
        white.withUnsafeBytes { converter.convert(bgra: $0.baseAddress!, stride: 24, to: rect, of: canvas) }
        for y in 0..<size.height {
            for x in 0..<size.width {
                let isInside = x >= rect.x && x < rect.maxX && y >= rect.y && y < rect.maxY
                #expect(canvas.y[y * canvas.strideY + x] == (isInside ? 235 : 16))
            }
        }
    }

    @Test func scalingKeepsTheColour() {
        let small = I420Buffer(PixelSize(width: 30, height: 14))
        converter.scale(canvas(blue: 0, green: 0, red: 255).frame, to: small)
        #expect(abs(Int(small.y[13 * small.strideY + 29]) - 82) <= 2)
        #expect(abs(Int(small.v[6 * small.strideC + 14]) - 240) <= 2)
    }

    @Test func copyTakesTheRectangleAlone() {
        let target = I420Buffer(size)
        converter.copy(
            PixelRect(x: 32, y: 16, width: 32, height: 16), of: canvas(blue: 255, green: 255, red: 255).frame,
            to: target)
        #expect(target.y[16 * target.strideY + 32] == 235)
        #expect(target.y[15 * target.strideY + 32] == 16)
        #expect(target.y[16 * target.strideY + 31] == 16)
    }
}

extension YUVConverterTests {
    /// Only the rows that have changed are scaled again.
    @Test func aReducedPlainAreaKeepsItsValueAndOtherRowsAreLeftAlone() {
        let frame = I420Buffer(PixelSize(width: 96, height: 48))
        frame.fill(luma: 201, cb: 90, cr: 160)
        let canvas = I420Buffer(PixelSize(width: 64, height: 32))
        converter.reduce(frame.frame, to: canvas, rows: 8..<20)
        for row in 0..<32 {
            let wanted: UInt8 = (8..<20).contains(row) ? 201 : 16
            #expect((0..<64).allSatisfy { canvas.y[row * canvas.strideY + $0] == wanted }, "row \(row)")
        }
        #expect(canvas.u[5] == 90 && canvas.v[canvas.strideC * 15 + 31] == 160)
    }

    /// Black lines of one pixel are equally dark wherever they are. Interpolation of two pixels loses some of them.
    @Test func thinLinesAreAllKept() {
        let frame = I420Buffer(PixelSize(width: 192, height: 48))
        frame.fill(luma: 235, cb: 128, cr: 128)
        for row in 0..<48 {
            for line in stride(from: 1, to: 192, by: 7) { frame.y[row * frame.strideY + line] = 16 }
        }
        func contrasts(_ scale: (I420Buffer) -> Void) -> [Int] {
            let canvas = I420Buffer(PixelSize(width: 128, height: 32))
            scale(canvas)
            return stride(from: 8, to: 185, by: 7).map { line in
                let at = Int((Double(line) + 0.5) / 1.5 - 0.5)
                return (at - 1...at + 2).reduce(0) { $0 + 235 - Int(canvas.y[10 * canvas.strideY + $1]) }
            }
        }
        let reduced = contrasts { converter.reduce(frame.frame, to: $0, rows: 0..<32) }
        let interpolated = contrasts { converter.scale(frame.frame, to: $0) }
        // 219 on 1 of 1.5 pixels.
        #expect(reduced.allSatisfy { (135...155).contains($0) }, "\(reduced)")
        #expect(interpolated.contains { !(135...155).contains($0) }, "\(interpolated)")
    }
}
