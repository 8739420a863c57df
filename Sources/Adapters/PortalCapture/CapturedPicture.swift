internal import FrameDifference
internal import MediaCore

/// The picture as last taken, and what brings a frame of the compositor into it and onto a canvas. Allocates nothing
/// once its arrays have grown.
final class CapturedPicture {
    let converter: any PixelConverter
    private let shadow: ScreenShadow
    /// Pixels in the order of the canvas, if the stream has another one.
    private var reordered: [UInt32] = []
    /// The pixels of a picture that was rotated or flipped.
    private var upright: [UInt32] = []

    /// Whether the newest frame came in a DMA-BUF.
    private(set) var isDMABuf = false

    var size: PixelSize { shadow.size }

    /// Creates a black picture.
    init(_ size: PixelSize, _ converter: any PixelConverter) {
        self.converter = converter
        shadow = ScreenShadow(size)
    }

    /// Copies the blocks that differ from the last frame.
    /// - Parameters:
    ///   - blocks: what may differ.
    ///   - frame: of this size.
    ///   - isForced: treats every one of them as changed.
    /// - Returns: false if the sender has taken the memory away.
    func copy(
        _ blocks: BlockMap, of frame: ReceivedStream.Frame, isForced: Bool, to canvas: I420Buffer,
        changed: inout BlockMap
    ) -> Bool {
        isDMABuf = frame.memory.isDMABuf
        let bounds = blocks.bounds
        guard !bounds.isEmpty else { return true }
        let rows = frame.layout.transform == 0 ? bounds.y..<bounds.maxY : 0..<frame.layout.area.height
        return withPixels(frame, rows: rows) { base, stride, order in
            for row in 0..<blocks.rows {
                var column = 0
                while let run = blocks.nextRun(inRow: row, from: column) {
                    column = run.upperBound
                    let rect = PixelRect(
                        x: run.lowerBound * BlockMap.side, y: row * BlockMap.side, width: run.count * BlockMap.side,
                        height: BlockMap.side
                    ).clipped(to: size)
                    withOrder(order, base + rect.y * stride + rect.x * 4, stride, rect) { pixels, stride in
                        shadow.copyDifferences(
                            pixels, stride: stride, rect: rect, isForced: isForced, canvas: canvas,
                            converter: converter, changed: &changed)
                    }
                }
            }
        }
    }

    /// Keeps a frame that is not copied to a canvas.
    /// - Returns: false if the sender has taken the memory away.
    func keep(_ frame: ReceivedStream.Frame) -> Bool {
        withPixels(frame, rows: 0..<frame.layout.area.height) { base, stride, order in
            for row in 0..<size.height {
                let (source, target) = (base + row * stride, shadow.pixel(x: 0, y: row))
                switch order {
                case .bgrx: target.copyMemory(from: source, byteCount: size.width * 4)
                case .rgbx:
                    PixelOrder.exchange(source, to: target.assumingMemoryBound(to: UInt32.self), count: size.width)
                }
            }
        }
    }

    /// Copies all of the picture.
    func copy(to canvas: I420Buffer) {
        converter.convert(
            bgra: shadow.pixel(x: 0, y: 0), stride: shadow.stride, to: PixelRect(size), of: canvas)
    }

    func draw(_ cursor: CursorLayer, on canvas: I420Buffer, changed: inout BlockMap) {
        cursor.draw(on: canvas, over: shadow, converter: converter, changed: &changed)
    }

    /// Calls `body` with the upper left pixel of the upright picture, and its stride in bytes.
    /// - Parameter rows: what is needed of `layout.area`.
    /// - Returns: false if the sender has taken the memory away.
    private func withPixels(
        _ frame: ReceivedStream.Frame, rows: Range<Int>,
        _ body: (UnsafeRawPointer, _ stride: Int, StreamFormat.PixelOrder) -> Void
    ) -> Bool {
        let layout = frame.layout
        defer { frame.memory.unload() }
        guard frame.memory.load(layout.bytes(ofRows: rows)), let base = frame.memory.bytes.baseAddress else {
            return false
        }
        guard layout.transform != 0 else {
            body(base + layout.offset, layout.stride, frame.memory.format.order)
            return true
        }
        let count = layout.size.width * layout.size.height
        if upright.count != count { upright = [UInt32](repeating: 0, count: count) }
        upright.withUnsafeMutableBufferPointer { target in
            guard let first = target.baseAddress else { return }
            PixelOrder.undo(layout, base + layout.offset, to: first)
            body(UnsafeRawPointer(first), layout.size.width * 4, frame.memory.format.order)
        }
        return true
    }

    /// Calls `body` with the pixels of a rectangle as BGRX.
    private func withOrder(
        _ order: StreamFormat.PixelOrder, _ pixels: UnsafeRawPointer, _ stride: Int, _ rect: PixelRect,
        _ body: (UnsafeRawPointer, _ stride: Int) -> Void
    ) {
        guard order == .rgbx else { return body(pixels, stride) }
        let count = rect.width * rect.height
        if reordered.count < count { reordered = [UInt32](repeating: 0, count: count) }
        reordered.withUnsafeMutableBufferPointer { target in
            guard let base = target.baseAddress else { return }
            for row in 0..<rect.height {
                PixelOrder.exchange(pixels + row * stride, to: base + row * rect.width, count: rect.width)
            }
            body(UnsafeRawPointer(base), rect.width * 4)
        }
    }
}
