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
    private var random = SeededGenerator(seed: 99)
    private static let textureSide = 1_024
    /// Made once, as it takes long without optimization.
    private static let clouds = Clouds()

    init(seed: UInt64) {
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

    /// Two layers that move in different directions, and grain: eight pixels at once, as a debug build takes long for
    /// each.
    private func drawVideo() {
        let (side, clouds) = (Self.textureSide, Self.clouds)
        var grain = [UInt64](repeating: 0, count: 8)
        for row in 0..<Self.video.height {
            let line = UnsafeMutableRawPointer(canvas.y + (Self.video.y + row) * canvas.strideY + Self.video.x)
            fill(&grain)
            // The near layer is drawn at half of its size.
            let near =
                clouds.near[5 * frame & 1] + ((row * 2 + frame) & (side - 1)) * Clouds.nearLength
                + ((5 * frame) >> 1) & (side / 2 - 1)
            let far = clouds.far + ((row + 300) & (side - 1)) * Clouds.farLength + (700 &- frame) & (side - 1)
            var column = 0
            while column < Self.video.width {
                let layers =
                    near.loadUnaligned(fromByteOffset: column, as: UInt64.self)
                    &+ far.loadUnaligned(fromByteOffset: column, as: UInt64.self)
                // No byte overflows: each layer has 112 at most.
                line.storeBytes(
                    of: layers &+ 0x1414_1414_1414_1414 &+ grain[column >> 3 & 7], toByteOffset: column,
                    as: UInt64.self)
                column += 8
            }
        }
        drawChroma()
    }

    /// Two random bits for each of 64 pixels, after which they repeat.
    private func fill(_ grain: inout [UInt64]) {
        var bits = random.next()
        for word in 0..<8 {
            var bytes: UInt64 = 0
            for byte in 0..<8 {
                bits = bits << 3 | bits >> 61
                bytes |= (bits & 3) << UInt64(byte * 8)
            }
            grain[word] = bytes
        }
    }

    private func drawChroma() {
        let columns = Self.video.x / 2..<Self.video.maxX / 2
        let line = columns.map { UInt8(132 + ($0 + frame) / 11 % 16) }
        for row in Self.video.y / 2..<Self.video.maxY / 2 {
            let start = row * canvas.strideC + columns.lowerBound
            (canvas.u + start).update(repeating: UInt8(118 + (row + frame) / 9 % 16), count: columns.count)
            line.withUnsafeBufferPointer { line in
                guard let base = line.baseAddress else { return }
                (canvas.v + start).update(from: base, count: line.count)
            }
        }
    }

    /// Half of the texture's values, in rows that go on with their beginning, so that eight pixels are read at once.
    private final class Clouds: @unchecked Sendable {
        // SAFETY: written by the initializer only; lives as long as the process.
        static let nearLength = TextBesideVideo.textureSide / 2 + TextBesideVideo.video.width
        static let farLength = TextBesideVideo.textureSide + TextBesideVideo.video.width
        /// The even and the odd columns.
        let near: [UnsafeRawPointer]
        let far: UnsafeRawPointer

        init() {
            let side = TextBesideVideo.textureSide
            let texture = TextBesideVideo.makeTexture()
            let far = UnsafeMutablePointer<UInt8>.allocate(capacity: side * Self.farLength)
            let near = (0..<2).map { _ in UnsafeMutablePointer<UInt8>.allocate(capacity: side * Self.nearLength) }
            texture.withUnsafeBufferPointer { texture in
                for row in 0..<side {
                    for column in 0..<Self.farLength {
                        far[row * Self.farLength + column] = texture[row * side + column & (side - 1)] >> 1
                    }
                    for (odd, near) in near.enumerated() {
                        for column in 0..<Self.nearLength {
                            near[row * Self.nearLength + column] =
                                texture[row * side + (column * 2 + odd) & (side - 1)] >> 1
                        }
                    }
                }
            }
            (self.near, self.far) = (near.map { UnsafeRawPointer($0) }, UnsafeRawPointer(far))
        }
    }

    /// Smooth noise, as clouds.
    private static func makeTexture() -> [UInt8] {
        var random = SeededGenerator(seed: 5)
        var sum = [Int](repeating: 0, count: textureSide * textureSide)
        for step in [128, 32, 8, 4] {
            let cells = textureSide / step
            let values = (0..<cells * cells).map { _ in Int(random.next() & 0xff) * (step + 24) / 152 }
            sum.withUnsafeMutableBufferPointer { sum in
                for row in 0..<textureSide {
                    let (y, v) = (row / step * cells, row % step)
                    let below = (row / step + 1) % cells * cells
                    for x in 0..<cells {
                        let right = (x + 1) % cells
                        // Of this cell, in the row, at its left and at its right.
                        let left = values[y + x] * (step - v) + values[below + x] * v
                        let end = values[y + right] * (step - v) + values[below + right] * v
                        let start = row * textureSide + x * step
                        for u in 0..<step { sum[start &+ u] &+= (left &* (step &- u) &+ end &* u) / (step &* step) }
                    }
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
            line.withUnsafeBufferPointer { line in
                guard let base = line.baseAddress else { return }
                (canvas.y + row * canvas.strideY + Self.video.x).update(from: base, count: line.count)
            }
        }
    }

    /// The mean structural similarity (Wang et al. 2004) of the luma of all windows of 8 x 8 pixels that the video does
    /// not touch, four pixels apart: 1 for equal pictures.
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
