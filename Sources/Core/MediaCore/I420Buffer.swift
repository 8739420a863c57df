/// A frame in memory of its own: 8-bit planes Y, U and V, 4:2:0, BT.601 limited range.
///
/// The planes are 64-byte aligned; their strides are multiples of 64 bytes, and their rows are padded to whole 16 x 16
/// blocks. Not `Sendable`: confined to one thread at a time.
public final class I420Buffer {
    /// Even on both sides.
    public let size: PixelSize
    public let strideY: Int
    /// The stride of U and of V.
    public let strideC: Int
    public let y: UnsafeMutablePointer<UInt8>
    public let u: UnsafeMutablePointer<UInt8>
    public let v: UnsafeMutablePointer<UInt8>
    private let memory: UnsafeMutableRawPointer

    /// Makes a black frame.
    public init(_ size: PixelSize) {
        precondition(size.width > 0 && size.height > 0 && size == size.even, "4:2:0 needs even sides, got \(size)")
        self.size = size
        let paddedHeight = (size.height + 15) & ~15
        strideY = (size.width + 63) & ~63
        strideC = (strideY / 2 + 63) & ~63
        let lumaBytes = strideY * paddedHeight
        let chromaBytes = strideC * paddedHeight / 2
        memory = .allocate(byteCount: lumaBytes + 2 * chromaBytes, alignment: 64)
        y = memory.bindMemory(to: UInt8.self, capacity: lumaBytes)
        u = (memory + lumaBytes).bindMemory(to: UInt8.self, capacity: chromaBytes)
        v = (memory + lumaBytes + chromaBytes).bindMemory(to: UInt8.self, capacity: chromaBytes)
        y.update(repeating: 16, count: lumaBytes)
        u.update(repeating: 128, count: 2 * chromaBytes)
    }

    deinit { memory.deallocate() }

    /// Fills the frame with one colour of BT.601 in video range.
    public func fill(luma: UInt8, cb: UInt8, cr: UInt8) {
        let paddedHeight = (size.height + 15) & ~15
        y.update(repeating: luma, count: strideY * paddedHeight)
        u.update(repeating: cb, count: strideC * paddedHeight / 2)
        v.update(repeating: cr, count: strideC * paddedHeight / 2)
    }

    /// A borrowed view of the frame; valid while the buffer lives.
    public var frame: I420Frame {
        I420Frame(
            size: size, y: UnsafePointer(y), u: UnsafePointer(u), v: UnsafePointer(v), strideY: strideY,
            strideC: strideC)
    }
}

/// A borrowed I420 frame; valid only as long as its provider says.
public struct I420Frame {
    public let size: PixelSize
    public let y: UnsafePointer<UInt8>
    public let u: UnsafePointer<UInt8>
    public let v: UnsafePointer<UInt8>
    public let strideY: Int
    public let strideC: Int

    public init(
        size: PixelSize, y: UnsafePointer<UInt8>, u: UnsafePointer<UInt8>, v: UnsafePointer<UInt8>, strideY: Int,
        strideC: Int
    ) {
        self.size = size
        self.y = y
        self.u = u
        self.v = v
        self.strideY = strideY
        self.strideC = strideC
    }
}
