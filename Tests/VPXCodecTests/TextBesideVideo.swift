import Foundation
import MediaCore
import TestSupport

/// A page of text, 1280 x 720, on which a natural video of 640 x 360 plays at 30 frames a second.
final class TextBesideVideo {
    static let size = PixelSize(width: 1_280, height: 720)
    /// Not at the edges of blocks.
    static let video = PixelRect(x: 604, y: 38, width: 640, height: 360)

    let canvas = I420Buffer(size)
    /// The blocks that changed with the last frame.
    private(set) var changed = BlockMap(size, filled: true)
    private var frame = 0
    private let texture: [UInt8]
    private var random = SeededGenerator(seed: 99)
    private static let textureSide = 1_024

    init(seed: UInt64) {
        texture = Self.makeTexture()
        drawText(seed)
        drawVideo()
    }

    /// Another page of text around the video.
    func drawText(_ seed: UInt64, _ rect: PixelRect = PixelRect(TextBesideVideo.size)) {
        let kept = copyVideo()
        TextPage.draw(on: canvas, rect: rect, seed: seed)
        pasteVideo(kept)
        changed.insert(rect)
    }

    /// Moves the text left of the video and below it up by a line.
    func scroll() {
        let lines = 13
        let right = Self.video.x
        for (columns, top) in [(0..<right, 0), (right..<Self.size.width, Self.video.maxY + 2)] {
            for row in top..<Self.size.height - lines {
                let line = canvas.y + row * canvas.strideY + columns.lowerBound
                line.update(from: line + lines * canvas.strideY, count: columns.count)
            }
            changed.insert(
                PixelRect(x: columns.lowerBound, y: top, width: columns.count, height: Self.size.height - top))
        }
    }

    /// The next frame of the video; `changed` are its blocks alone.
    func advance() {
        changed.clear()
        frame += 1
        drawVideo()
        changed.insert(Self.video)
    }

    private func drawVideo() {
        // Two layers that move in different directions, and grain.
        let (mask, shift) = (Self.textureSide - 1, 10)
        texture.withUnsafeBufferPointer { texture in
            for row in 0..<Self.video.height {
                let line = canvas.y + (Self.video.y + row) * canvas.strideY + Self.video.x
                var grain = random.next()
                for column in 0..<Self.video.width {
                    let near = texture[((row * 2 + frame) & mask) << shift | (column * 2 + 5 * frame) & mask]
                    let far = texture[((row + 300) & mask) << shift | (column &+ 700 &- frame) & mask]
                    grain = grain << 3 | grain >> 61
                    line[column] = UInt8(clamping: 20 + Int(near) / 2 + Int(far) / 2 + Int(grain & 3))
                }
            }
        }
        for row in Self.video.y / 2..<Self.video.maxY / 2 {
            for column in Self.video.x / 2..<Self.video.maxX / 2 {
                canvas.u[row * canvas.strideC + column] = UInt8(118 + (row + frame) / 9 % 16)
                canvas.v[row * canvas.strideC + column] = UInt8(132 + (column + frame) / 11 % 16)
            }
        }
    }

    /// Smooth noise, as clouds.
    private static func makeTexture() -> [UInt8] {
        var random = SeededGenerator(seed: 5)
        var sum = [Int](repeating: 0, count: textureSide * textureSide)
        for step in [128, 32, 8, 4] {
            let cells = textureSide / step
            let values = (0..<cells * cells).map { _ in Int(random.next() & 0xff) * (step + 24) / 152 }
            for row in 0..<textureSide {
                let (y, v) = (row / step, row % step)
                for column in 0..<textureSide {
                    let (x, u) = (column / step, column % step)
                    let (right, below) = ((x + 1) % cells, (y + 1) % cells)
                    let upper = values[y * cells + x] * (step - u) + values[y * cells + right] * u
                    let lower = values[below * cells + x] * (step - u) + values[below * cells + right] * u
                    sum[row * textureSide + column] += (upper * (step - v) + lower * v) / (step * step)
                }
            }
        }
        return sum.map { UInt8(clamping: $0 / 2) }
    }

    private func copyVideo() -> [[UInt8]] {
        (Self.video.y..<Self.video.maxY).map { row in
            Array(
                UnsafeBufferPointer(
                    start: canvas.y + row * canvas.strideY + Self.video.x, count: Self.video.width))
        }
    }

    private func pasteVideo(_ rows: [[UInt8]]) {
        for (row, line) in zip(Self.video.y..<Self.video.maxY, rows) {
            for (column, value) in line.enumerated() {
                canvas.y[row * canvas.strideY + Self.video.x + column] = value
            }
        }
    }

    /// The mean structural similarity (Wang et al. 2004) of the luma of all windows of 8 x 8 pixels that the video does not
    /// touch, four pixels apart: 1 for equal pictures.
    static func textSimilarity(_ a: I420Frame, _ b: I420Frame) -> Double {
        var (sum, count) = (0.0, 0)
        for top in stride(from: 0, through: size.height - 8, by: 4) {
            for left in stride(from: 0, through: size.width - 8, by: 4) {
                if top + 8 > video.y, top < video.maxY, left + 8 > video.x, left < video.maxX { continue }
                sum += similarity(a, b, left, top)
                count += 1
            }
        }
        return sum / Double(count)
    }

    private static func similarity(_ a: I420Frame, _ b: I420Frame, _ left: Int, _ top: Int) -> Double {
        var (sumA, sumB, squareA, squareB, product) = (0, 0, 0, 0, 0)
        for row in top..<top + 8 {
            let (lineA, lineB) = (a.y + row * a.strideY + left, b.y + row * b.strideY + left)
            for column in 0..<8 {
                let (valueA, valueB) = (Int(lineA[column]), Int(lineB[column]))
                sumA &+= valueA
                sumB &+= valueB
                squareA &+= valueA &* valueA
                squareB &+= valueB &* valueB
                product &+= valueA &* valueB
            }
        }
        let (meanA, meanB) = (Double(sumA) / 64, Double(sumB) / 64)
        let varianceA = Double(squareA) / 64 - meanA * meanA
        let varianceB = Double(squareB) / 64 - meanB * meanB
        let covariance = Double(product) / 64 - meanA * meanB
        let (c1, c2) = (6.5025, 58.5225)
        return (2 * meanA * meanB + c1) * (2 * covariance + c2)
            / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2))
    }
}
