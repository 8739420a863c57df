import Foundation
import MediaCore
import TestSupport

/// Test content that is as hard to encode as text: dark glyphs of 5 x 7 dots, two pixels apart, on a light background.
enum TextPage {
    /// Fills a rectangle with lines of glyphs, chosen by the seed.
    static func draw(on canvas: I420Buffer, rect: PixelRect, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for row in rect.y..<rect.maxY {
            (canvas.y + row * canvas.strideY + rect.x).update(repeating: 235, count: rect.maxX - rect.x)
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
            let (start, count) = (row * canvas.strideC + rect.x / 2, rect.maxX / 2 - rect.x / 2)
            (canvas.u + start).update(repeating: 128, count: count)
            (canvas.v + start).update(repeating: 128, count: count)
        }
    }
}

/// A page of text with smooth edges, as desktops draw it: strokes of a pixel and a half at any place within pixels, in
/// the luma of one of two colours or between them. It repeats after its lines of 18 pixels.
struct SmoothText {
    private static let lineHeight = 18
    private let lines: Int
    private let width: Int
    private let foreground: UInt8
    private var luma: [UInt8]

    init(width: Int, background: UInt8, foreground: UInt8, seed: UInt64, lines: Int = 20) {
        self.lines = lines
        self.width = width
        self.foreground = foreground
        luma = [UInt8](repeating: background, count: width * lines * Self.lineHeight)
        var random = SeededGenerator(seed: seed)
        for line in 0..<lines {
            for left in stride(from: 4, to: width - 12, by: 9) {
                let glyph = random.next()
                guard glyph & 15 < 12 else { continue }
                for stroke in 0..<3 { draw(glyph >> (4 + stroke * 16), line * Self.lineHeight * width + left) }
            }
        }
    }

    /// Shows the page, moved up by some pixels.
    func show(on canvas: I420Buffer, scrolled: Int) {
        luma.withUnsafeBufferPointer { luma in
            guard let base = luma.baseAddress else { return }
            for row in 0..<canvas.size.height {
                let line = (row + scrolled) % (lines * Self.lineHeight)
                (canvas.y + row * canvas.strideY).update(from: base + line * width, count: width)
            }
        }
    }

    /// Draws a stroke between two points of a cell of 7 x 12 pixels.
    private mutating func draw(_ bits: UInt64, _ origin: Int) {
        let (ax, ay) = (Double(bits & 15) * 7 / 15, 3 + Double(bits >> 4 & 15) * 12 / 15)
        let (bx, by) = (Double(bits >> 8 & 15) * 7 / 15, 3 + Double(bits >> 12 & 15) * 12 / 15)
        let (dx, dy) = (bx - ax, by - ay)
        let length = max(dx * dx + dy * dy, 0.01)
        for y in 0..<Self.lineHeight {
            for x in 0..<9 {
                let along = min(max(((Double(x) - ax) * dx + (Double(y) - ay) * dy) / length, 0), 1)
                let distance = hypot(Double(x) - ax - along * dx, Double(y) - ay - along * dy)
                let ink = min(max(1.25 - distance, 0), 1)
                let old = Double(luma[origin + y * width + x])
                luma[origin + y * width + x] = UInt8(old + (Double(foreground) - old) * ink)
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
