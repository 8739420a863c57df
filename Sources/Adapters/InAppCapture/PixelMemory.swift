internal import MediaCore

/// The pixels of one frame size: BGRA, rows of a multiple of 64 bytes, black at first.
final class PixelMemory {
    let size: PixelSize
    let stride: Int
    let base: UnsafeMutableRawPointer

    init(_ size: PixelSize) {
        self.size = size
        stride = (size.width * 4 + 63) & ~63
        base = .allocate(byteCount: stride * size.height, alignment: 64)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: stride * size.height)
    }

    deinit { base.deallocate() }

    func pixel(x: Int, y: Int) -> UnsafeMutableRawPointer { base + y * stride + x * 4 }
}

/// A frame in shared memory of the app, BGRA.
struct MappedFrame {
    var memory: MappedMemory
    /// The first pixel, inside `memory`.
    var base: UnsafeRawPointer
    var stride: Int
    /// Even on both sides.
    var size: PixelSize
}
