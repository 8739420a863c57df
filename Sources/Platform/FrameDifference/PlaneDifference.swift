internal import Glibc
package import MediaCore

/// Compares frames of planes with the canvas, which holds the frame as last read. There is no copy beside it, unlike
/// for BGRA (`ScreenShadow`).
package enum PlaneDifference {
    /// Copies the blocks that differ into the canvas and the map. Allocates nothing.
    /// - Parameters:
    ///   - frame: of the canvas's size.
    ///   - rect: begins on the block grid and ends there or at the frame's edge; all four numbers even.
    ///   - isForced: treats every block as changed.
    package static func copy(
        _ frame: I420Frame, rect: PixelRect, isForced: Bool, canvas: I420Buffer, changed: inout BlockMap
    ) {
        precondition(frame.size == canvas.size, "\(frame.size) is not \(canvas.size)")
        let columns = changed.columns
        let last = (rect.maxX + 15) / 16
        changed.blocks.withUnsafeMutableBufferPointer { map in
            for top in Swift.stride(from: rect.y, to: rect.maxY, by: 16) {
                let height = min(16, rect.maxY - top)
                let row = PixelRect(x: rect.x, y: top, width: rect.width, height: height)
                // Most rows are equal, and `memcmp` finds that at the speed of memory.
                if !isForced, !differs(frame, canvas, row) { continue }
                var column = rect.x / 16
                while column < last {
                    let first = column
                    while column < last, isForced || differs(frame, canvas, block(column, row)) {
                        map[top / 16 * columns + column] = 1
                        column += 1
                    }
                    if column > first {
                        copy(frame, canvas, block(first, row).union(block(column - 1, row)))
                    }
                    // This one is equal, or the row is over.
                    column += 1
                }
            }
        }
    }

    /// The part of a row of blocks that lies in one column.
    private static func block(_ column: Int, _ row: PixelRect) -> PixelRect {
        PixelRect(x: column * 16, y: row.y, width: min(16, row.maxX - column * 16), height: row.height)
    }

    private static func differs(_ frame: I420Frame, _ canvas: I420Buffer, _ rect: PixelRect) -> Bool {
        for y in rect.y..<rect.maxY
        where memcmp(frame.y + y * frame.strideY + rect.x, canvas.y + y * canvas.strideY + rect.x, rect.width) != 0 {
            return true
        }
        for y in rect.y / 2..<rect.maxY / 2 {
            let (a, b) = (y * frame.strideC + rect.x / 2, y * canvas.strideC + rect.x / 2)
            if memcmp(frame.u + a, canvas.u + b, rect.width / 2) != 0 { return true }
            if memcmp(frame.v + a, canvas.v + b, rect.width / 2) != 0 { return true }
        }
        return false
    }

    private static func copy(_ frame: I420Frame, _ canvas: I420Buffer, _ rect: PixelRect) {
        for y in rect.y..<rect.maxY {
            memcpy(canvas.y + y * canvas.strideY + rect.x, frame.y + y * frame.strideY + rect.x, rect.width)
        }
        for y in rect.y / 2..<rect.maxY / 2 {
            let (from, to) = (y * frame.strideC + rect.x / 2, y * canvas.strideC + rect.x / 2)
            memcpy(canvas.u + to, frame.u + from, rect.width / 2)
            memcpy(canvas.v + to, frame.v + from, rect.width / 2)
        }
    }
}
