internal import Glibc
internal import MediaCore

/// Copies pictures onto canvases, and finds the blocks in which they differ.
enum BlockCopy {
    /// How much the pixels of 8 x 8 may differ on average, of 255: the noise of a camera's sensor. A block is compared
    /// with what is shown, so differences do not add up.
    private static let tolerance: UInt32 = 3

    /// Copies what differs, block by block of the canvas. Both rectangles have one size, and even origins and sides.
    /// - Parameter isTolerant: blocks that differ by noise alone stay as they are.
    static func copy(
        _ source: I420Buffer, from: PixelRect, to canvas: I420Buffer, at target: PixelRect, isTolerant: Bool = false,
        _ changed: inout BlockMap
    ) {
        let side = BlockMap.side
        for row in target.y / side...(target.maxY - 1) / side {
            for column in target.x / side...(target.maxX - 1) / side {
                let (left, top) = (max(column * side, target.x), max(row * side, target.y))
                let part = PixelRect(
                    x: left, y: top, width: min((column + 1) * side, target.maxX) - left,
                    height: min((row + 1) * side, target.maxY) - top)
                var origin = part
                (origin.x, origin.y) = (part.x - target.x + from.x, part.y - target.y + from.y)
                guard
                    isTolerant
                        ? differsVisibly(source, origin, canvas, part) : differs(source, origin, canvas, part)
                else { continue }
                copyRows(source, origin, to: canvas, at: part)
                changed.blocks[row * changed.columns + column] = 1
            }
        }
    }

    static func copyRows(_ source: I420Buffer, _ from: PixelRect, to canvas: I420Buffer, at: PixelRect) {
        for row in 0..<at.height {
            (canvas.y + (at.y + row) * canvas.strideY + at.x).update(
                from: source.y + (from.y + row) * source.strideY + from.x, count: at.width)
        }
        for row in 0..<at.height / 2 {
            let (a, b) = (
                (from.y / 2 + row) * source.strideC + from.x / 2, (at.y / 2 + row) * canvas.strideC + at.x / 2
            )
            (canvas.u + b).update(from: source.u + a, count: at.width / 2)
            (canvas.v + b).update(from: source.v + a, count: at.width / 2)
        }
    }

    private static func differs(_ source: I420Buffer, _ from: PixelRect, _ canvas: I420Buffer, _ at: PixelRect) -> Bool
    {
        let width = at.width / 2
        for row in 0..<at.height {
            let a = source.y + (from.y + row) * source.strideY + from.x
            if memcmp(a, canvas.y + (at.y + row) * canvas.strideY + at.x, at.width) != 0 { return true }
        }
        for row in 0..<at.height / 2 {
            let (a, b) = (
                (from.y / 2 + row) * source.strideC + from.x / 2, (at.y / 2 + row) * canvas.strideC + at.x / 2
            )
            if memcmp(source.u + a, canvas.u + b, width) != 0 || memcmp(source.v + a, canvas.v + b, width) != 0 {
                return true
            }
        }
        return false
    }

    private static func differsVisibly(
        _ source: I420Buffer, _ from: PixelRect, _ canvas: I420Buffer, _ at: PixelRect
    ) -> Bool {
        // Parts of blocks at the edges of a picture that was put anywhere are few.
        guard at.width == BlockMap.side, at.height % 8 == 0 else { return differs(source, from, canvas, at) }
        for top in stride(from: 0, to: at.height, by: 8) {
            let (a, b) = (
                source.y + (from.y + top) * source.strideY + from.x, canvas.y + (at.y + top) * canvas.strideY + at.x
            )
            if exceeds(a, source.strideY, b, canvas.strideY, rows: 8)
                || exceeds(a + 8, source.strideY, b + 8, canvas.strideY, rows: 8)
            {
                return true
            }
        }
        let (a, b) = (from.y / 2 * source.strideC + from.x / 2, at.y / 2 * canvas.strideC + at.x / 2)
        let rows = at.height / 2
        return exceeds(source.u + a, source.strideC, canvas.u + b, canvas.strideC, rows: rows)
            || exceeds(source.v + a, source.strideC, canvas.v + b, canvas.strideC, rows: rows)
    }

    /// Whether the mean difference of 8 columns exceeds the tolerance.
    private static func exceeds(
        _ a: UnsafePointer<UInt8>, _ strideA: Int, _ b: UnsafePointer<UInt8>, _ strideB: Int, rows: Int
    ) -> Bool {
        var sum = SIMD8<UInt16>(repeating: 0)
        for row in 0..<rows {
            let x = UnsafeRawPointer(a + row * strideA).loadUnaligned(as: SIMD8<UInt8>.self)
            let y = UnsafeRawPointer(b + row * strideB).loadUnaligned(as: SIMD8<UInt8>.self)
            sum &+= SIMD8<UInt16>(truncatingIfNeeded: pointwiseMax(x, y) &- pointwiseMin(x, y))
        }
        return UInt32(sum.wrappedSum()) > tolerance * 8 * UInt32(rows)
    }
}
