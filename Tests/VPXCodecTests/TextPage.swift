import Foundation
import MediaCore
import TestSupport

/// Test content that is as hard to encode as text: dark glyphs of 5 x 7 dots, two pixels apart, on a light background.
enum TextPage {
    /// Fills a rectangle with lines of glyphs, chosen by the seed.
    static func draw(on canvas: I420Buffer, rect: PixelRect, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for row in rect.y..<rect.maxY {
            for column in rect.x..<rect.maxX { canvas.y[row * canvas.strideY + column] = 235 }
        }
        for top in stride(from: rect.y + 3, to: rect.maxY - 10, by: 13) {
            for left in stride(from: rect.x + 3, to: rect.maxX - 8, by: 8) {
                let glyph = random.next()
                if glyph >> 60 < 3 { continue }
                for dot in 0..<35 where glyph >> dot & 1 == 1 {
                    canvas.y[(top + dot / 5) * canvas.strideY + left + dot % 5] = UInt8(16 + (glyph >> 50 & 31))
                }
            }
        }
        for row in rect.y / 2..<rect.maxY / 2 {
            for column in rect.x / 2..<rect.maxX / 2 {
                canvas.u[row * canvas.strideC + column] = 128
                canvas.v[row * canvas.strideC + column] = 128
            }
        }
    }
}

/// The sum of squared luma differences between two frames inside a rectangle.
func lumaError(_ a: I420Frame, _ b: I420Frame, in rect: PixelRect) -> Int {
    var sum = 0
    for row in rect.y..<rect.maxY {
        let lineA = a.y + row * a.strideY
        let lineB = b.y + row * b.strideY
        for column in rect.x..<rect.maxX {
            let difference = Int(lineA[column]) - Int(lineB[column])
            sum += difference * difference
        }
    }
    return sum
}

/// The luma PSNR of two frames in decibels; 99 if they are equal.
func lumaPSNR(_ a: I420Frame, _ b: I420Frame) -> Double {
    let sum = lumaError(a, b, in: PixelRect(a.size))
    if sum == 0 { return 99 }
    return 10 * log10(255 * 255 * Double(a.size.width * a.size.height) / Double(sum))
}
