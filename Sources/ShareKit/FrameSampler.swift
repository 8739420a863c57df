internal import LinuxRuntime
internal import MediaCore
internal import PixelConversion

/// Reads an app's frames into sample buffers, when something has changed and the app can take one. Confined to the
/// capture thread.
final class FrameSampler {
    /// A frame that the app uses, or that is free. Its memory is not written to while it is lent.
    private final class Frame {
        let number: Int
        let buffer: I420Buffer
        /// The blocks in which it differs from the canvas.
        var stale: BlockMap

        init(_ number: Int, _ size: PixelSize) {
            self.number = number
            buffer = I420Buffer(size)
            stale = BlockMap(size, filled: true)
        }
    }

    private let screen: any ScreenSource
    private let queue: SampleQueue
    private let interval: MediaDuration
    private let converter = YUVConverter()
    private var canvas: I420Buffer
    private var changed: BlockMap
    /// Frames of the canvas's size, three at most.
    private var frames: [Frame] = []
    private var made = 0

    init(_ screen: any ScreenSource, _ queue: SampleQueue, framesPerSecond: Int) {
        self.screen = screen
        self.queue = queue
        interval = .microseconds(1_000_000 / max(framesPerSecond, 1))
        canvas = I420Buffer(screen.size)
        changed = BlockMap(screen.size)
    }

    /// Runs until the queue ends. The screen has been resumed before.
    func run() {
        var next = MonotonicClock.now
        while queue.waitForRoom(notBefore: next) {
            // The screen of an app does not fail.
            guard let event = try? screen.wait(until: nil) else { break }
            switch event {
            case .woken: continue
            case .damaged: break
            case .resized(let size):
                canvas = I420Buffer(size)
                changed = BlockMap(size)
                // Those that the app still uses are freed when it releases them.
                frames = []
            }
            if read() { next = MonotonicClock.now + interval }
        }
        screen.close()
    }

    /// - Returns: false if nothing differs from the last frame, or the size has changed.
    private func read() -> Bool {
        guard let captured = try? screen.read(into: canvas, changed: &changed), !changed.isEmpty else { return false }
        for frame in frames { frame.stale.formUnion(changed) }
        changed.clear()
        let frame = freeFrame()
        update(frame)
        queue.lend(frame.number)
        let buffer = frame.buffer
        let planes = SampleBuffer.VideoPlanes(
            width: buffer.size.width, height: buffer.size.height, y: UnsafePointer(buffer.y),
            u: UnsafePointer(buffer.u), v: UnsafePointer(buffer.v), strideY: buffer.strideY, strideC: buffer.strideC)
        let lent = LentFrame(buffer: buffer, number: frame.number)
        queue.push(
            SampleBuffer(.video(planes), time: Duration(captured)) { [queue] in queue.takeBack(lent.number) })
        return true
    }

    private func freeFrame() -> Frame {
        if let free = frames.first(where: { !queue.isLent($0.number) }) { return free }
        made += 1
        let frame = Frame(made, canvas.size)
        frames.append(frame)
        return frame
    }

    /// Brings a frame up to date with the canvas; copies only what differs.
    private func update(_ frame: Frame) {
        for row in 0..<frame.stale.rows {
            let blocks = row * frame.stale.columns..<(row + 1) * frame.stale.columns
            guard let first = frame.stale.blocks[blocks].firstIndex(where: { $0 != 0 }),
                let last = frame.stale.blocks[blocks].lastIndex(where: { $0 != 0 })
            else { continue }
            let rect = PixelRect(
                x: (first - blocks.lowerBound) * 16, y: row * 16, width: (last - first + 1) * 16, height: 16)
            converter.copy(rect.clipped(to: canvas.size), of: canvas.frame, to: frame.buffer)
        }
        frame.stale.clear()
    }
}

/// Keeps a frame's memory for as long as the app uses it.
// SAFETY: the memory is not touched through this value.
private struct LentFrame: @unchecked Sendable {
    let buffer: I420Buffer
    let number: Int
}

extension Duration {
    init(_ instant: MediaInstant) { self = .nanoseconds(instant.nanoseconds) }
}
