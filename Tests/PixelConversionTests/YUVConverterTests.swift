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
