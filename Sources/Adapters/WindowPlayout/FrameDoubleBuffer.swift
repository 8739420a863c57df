import MediaCore
import Synchronization

/// A copy of the last decoded frame, another of what the window shows, and the blocks in which they differ.
///
/// It passes frames from the decode thread to the thread that presents. The second copy lets the one decode while the
/// other uploads. It has one slot, so a newer frame overwrites one that was not presented; frames for later wait in a
/// `PresentationQueue` before it.
final class FrameDoubleBuffer: @unchecked Sendable {
    // SAFETY: `front` and `unpresented` are touched by the presenting thread alone, the other properties only inside
    // `lock`.
    private let lock = Mutex<Void>(())
    private var canvas: I420Buffer?
    /// Blocks of `canvas` that `front` lacks.
    private var pending = BlockMap(PixelSize(width: 2, height: 2))
    private var hasPending = false
    private var columnFlags: [UInt8] = []
    private var queue = PresentationQueue()
    private var front: I420Buffer?
    /// Blocks of `front` that the window does not show yet.
    private var unpresented = BlockMap(PixelSize(width: 2, height: 2))

    /// Copies the blocks of the frame that differ. An odd last row or column is ignored.
    /// - Parameter time: when the frame is to be presented; nil: now, or with the frame before it if that one waits.
    /// - Returns: whether there is anything to present now, or another time to wait for.
    /// - Complexity: without a change, one comparison of all pixels. Allocates only when the size changes, and when
    ///   frames wait.
    func update(_ frame: I420Frame, at time: MediaInstant? = nil) -> Bool {
        let size = frame.size.even
        guard size.width > 0, size.height > 0 else { return false }
        return lock.withLock { _ in
            if time == nil, queue.isEmpty {
                queue.releaseBuffers()
                return take(frame)
            }
            while queue.isFull(for: size) { queue.takeFirst { _ = take($0) } }
            queue.append(frame.cropped(to: size), at: time)
            return true
        }
    }

    /// Takes the waiting frames whose time has come.
    /// - Returns: the time of the next one; nil if there is none.
    func takeDue(_ now: MediaInstant) -> MediaInstant? {
        lock.withLock { _ in
            if queue.isEmpty { queue.releaseBuffers() }
            while let time = queue.firstTime {
                guard time <= now else { return time }
                queue.takeFirst { _ = take($0) }
            }
            return nil
        }
    }

    /// Calls `body` with the frame and the blocks that the window does not show yet, from which it removes those that
    /// it presents. Frames may be given to `update` meanwhile.
    /// - Returns: nil if there is no frame yet.
    /// - Isolation: the presenting thread.
    func withFrame<Result>(_ body: (I420Frame, inout BlockMap) -> Result) -> Result? {
        lock.withLock { _ in updateFront() }
        guard let front else { return nil }
        return body(front.frame, &unpresented)
    }

    /// The size of the frame; nil before the first one.
    var size: PixelSize? { lock.withLock { _ in canvas?.size } }

    private func updateFront() {
        guard hasPending, let canvas else { return }
        hasPending = false
        if let front, front.size == canvas.size {
            canvas.copyBlocks(pending, to: front)
            unpresented.formUnion(pending)
        } else {
            let front = I420Buffer(canvas.size)
            front.copy(canvas.frame)
            self.front = front
            unpresented = BlockMap(canvas.size, filled: true)
        }
        pending.clear()
    }

    private func take(_ frame: I420Frame) -> Bool {
        let size = frame.size.even
        guard let canvas, canvas.size == size else {
            let canvas = I420Buffer(size)
            canvas.copy(frame)
            self.canvas = canvas
            pending = BlockMap(size, filled: true)
            columnFlags = [UInt8](repeating: 0, count: pending.columns)
            hasPending = true
            return true
        }
        let isChanged = takeDifferences(frame, canvas)
        hasPending = hasPending || isChanged
        return isChanged
    }

    private func takeDifferences(_ frame: I420Frame, _ canvas: I420Buffer) -> Bool {
        let columns = pending.columns
        let rows = pending.rows
        var isChanged = false
        columnFlags.withUnsafeMutableBufferPointer { flags in
            pending.blocks.withUnsafeMutableBufferPointer { blocks in
                guard let flags = flags.baseAddress, let blocks = blocks.baseAddress else { return }
                for band in 0..<rows {
                    let (luma, u, v) = PlaneBand.planes(of: frame, over: canvas, band: band)
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
