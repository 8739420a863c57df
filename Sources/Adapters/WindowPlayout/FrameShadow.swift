import Glibc
import MediaCore
import Synchronization

/// A copy of the last frame, with the blocks that the window does not show yet.
///
/// It passes frames from the decode thread to the main thread. It has one slot, so a newer frame overwrites one that
/// was not presented.
final class FrameShadow: @unchecked Sendable {
    // SAFETY: every stored property below is touched only inside `lock`.
    private let lock = Mutex<Void>(())
    private var canvas: I420Buffer?
    private var pending = BlockMap(PixelSize(width: 2, height: 2))
    private var columnFlags: [UInt8] = []

    /// Copies the blocks of the frame that differ. An odd last row or column is ignored.
    /// - Returns: whether there is anything to present.
    /// - Complexity: without a change, one comparison of all pixels. Allocates only when the size changes.
    func update(_ frame: I420Frame) -> Bool {
        let size = frame.size.even
        guard size.width > 0, size.height > 0 else { return false }
        return lock.withLock { _ in
            guard let canvas, canvas.size == size else {
                let canvas = I420Buffer(size)
                copyAll(frame, to: canvas)
                self.canvas = canvas
                pending = BlockMap(size, filled: true)
                columnFlags = [UInt8](repeating: 0, count: pending.columns)
                return true
            }
            return takeDifferences(frame, canvas)
        }
    }

    /// Calls `body` with the frame and the pending blocks, from which it removes those that it presents.
    /// - Returns: nil if there is no frame yet.
    func withFrame<Result>(_ body: (I420Frame, inout BlockMap) -> Result) -> Result? {
        lock.withLock { _ in
            guard let canvas else { return nil }
            return body(canvas.frame, &pending)
        }
    }

    /// The size of the frame; nil before the first one.
    var size: PixelSize? { lock.withLock { _ in canvas?.size } }

    private func copyAll(_ frame: I420Frame, to canvas: I420Buffer) {
        let size = canvas.size
        for row in 0..<size.height {
            memcpy(canvas.y + row * canvas.strideY, frame.y + row * frame.strideY, size.width)
        }
        for row in 0..<(size.height / 2) {
            memcpy(canvas.u + row * canvas.strideC, frame.u + row * frame.strideC, size.width / 2)
            memcpy(canvas.v + row * canvas.strideC, frame.v + row * frame.strideC, size.width / 2)
        }
    }

    private func takeDifferences(_ frame: I420Frame, _ canvas: I420Buffer) -> Bool {
        let size = canvas.size
        let columns = pending.columns
        let rows = pending.rows
        var isChanged = false
        columnFlags.withUnsafeMutableBufferPointer { flags in
            pending.blocks.withUnsafeMutableBufferPointer { blocks in
                guard let flags = flags.baseAddress, let blocks = blocks.baseAddress else { return }
                for band in 0..<rows {
                    let top = band * 16
                    let height = min(16, size.height - top)
                    let luma = PlaneBand(
                        frame.y + top * frame.strideY, frame.strideY, canvas.y + top * canvas.strideY,
                        canvas.strideY, width: size.width, rows: height, blockWidth: 16)
                    let chroma = (top / 2) * frame.strideC
                    let ownChroma = (top / 2) * canvas.strideC
                    let u = PlaneBand(
                        frame.u + chroma, frame.strideC, canvas.u + ownChroma, canvas.strideC,
                        width: size.width / 2, rows: height / 2, blockWidth: 8)
                    let v = PlaneBand(
                        frame.v + chroma, frame.strideC, canvas.v + ownChroma, canvas.strideC,
                        width: size.width / 2, rows: height / 2, blockWidth: 8)
                    // `|` does not short-circuit: each plane must set its own flags.
                    guard luma.flag(flags) | u.flag(flags) | v.flag(flags) else { continue }
                    isChanged = true
                    var column = 0
                    while column < columns {
                        guard flags[column] != 0 else {
                            column += 1
                            continue
                        }
                        let start = column
                        while column < columns, flags[column] != 0 {
                            flags[column] = 0
                            blocks[band * columns + column] = 1
                            column += 1
                        }
                        luma.copy(start..<column)
                        u.copy(start..<column)
                        v.copy(start..<column)
                    }
                }
            }
        }
        return isChanged
    }
}

extension Bool {
    fileprivate static func | (a: Bool, b: Bool) -> Bool { a || b }
}

/// One row of blocks in one plane, in the new frame and in the shadow.
private struct PlaneBand {
    let new: UnsafePointer<UInt8>
    let newStride: Int
    let old: UnsafeMutablePointer<UInt8>
    let oldStride: Int
    let width: Int
    let rows: Int
    let blockWidth: Int

    @inline(__always)
    init(
        _ new: UnsafePointer<UInt8>, _ newStride: Int, _ old: UnsafeMutablePointer<UInt8>, _ oldStride: Int, width: Int,
        rows: Int, blockWidth: Int
    ) {
        self.new = new
        self.newStride = newStride
        self.old = old
        self.oldStride = oldStride
        self.width = width
        self.rows = rows
        self.blockWidth = blockWidth
    }

    /// Sets the flags of the blocks that differ.
    /// - Returns: whether any differs.
    func flag(_ flags: UnsafeMutablePointer<UInt8>) -> Bool {
        var isChanged = false
        let whole = width / blockWidth
        for row in 0..<rows {
            let a = UnsafeRawPointer(new + row * newStride)
            let b = UnsafeRawPointer(old + row * oldStride)
            guard memcmp(a, b, width) != 0 else { continue }
            isChanged = true
            if blockWidth == 16 {
                for column in 0..<whole where flags[column] == 0 {
                    let at = column * 16
                    let low =
                        a.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        ^ b.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    let high =
                        a.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self)
                        ^ b.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self)
                    if low | high != 0 { flags[column] = 1 }
                }
            } else {
                for column in 0..<whole where flags[column] == 0 {
                    let at = column * 8
                    if a.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        != b.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    {
                        flags[column] = 1
                    }
                }
            }
            let rest = width - whole * blockWidth
            if rest > 0, memcmp(a + whole * blockWidth, b + whole * blockWidth, rest) != 0 { flags[whole] = 1 }
        }
        return isChanged
    }

    func copy(_ columns: Range<Int>) {
        let start = columns.lowerBound * blockWidth
        let count = min(columns.upperBound * blockWidth, width) - start
        for row in 0..<rows { memcpy(old + row * oldStride + start, new + row * newStride + start, count) }
    }
}
