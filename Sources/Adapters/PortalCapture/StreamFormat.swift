internal import MediaCore

/// The format of a stream's buffers: rows of pixels of 4 bytes.
struct StreamFormat: Equatable {
    enum PixelOrder: Equatable {
        /// B, G, R, X in memory; X may be alpha.
        case bgrx
        case rgbx
    }

    var size: PixelSize
    var order: PixelOrder
}

/// Where a frame's pixels are in its buffer. All of it is inside of the buffer.
struct FrameLayout: Equatable {
    /// The part of the buffer that is the picture, in pixels; both sides even, the origin may be odd.
    var area: PixelRect
    /// Bytes from one row to the next.
    var stride: Int
    /// The first byte of the upper left pixel of `area`.
    var offset: Int

    /// How the picture was flipped and rotated (spa_meta_videotransform_value, 0...7); the sides are exchanged if it is
    /// odd.
    var transform: UInt32

    /// The size of the upright picture.
    var size: PixelSize {
        transform & 1 == 0
            ? PixelSize(width: area.width, height: area.height) : PixelSize(width: area.height, height: area.width)
    }

    /// The bytes of some rows of the picture.
    func bytes(ofRows rows: Range<Int>) -> Range<Int> {
        let first = offset + rows.lowerBound * stride
        return first..<max(offset + (rows.upperBound - 1) * stride + area.width * 4, first)
    }

    /// The largest side of a picture, in pixels: even, and what VP8 takes.
    static let largestSide = 16_382

    /// Checks what a buffer says about itself, as the sender is another program.
    /// - Parameters:
    ///   - crop: the part of the buffer that is the picture; nil for all of it.
    ///   - offset, size, stride: of the chunk, in bytes (spa_chunk). The size counts from the offset.
    ///   - capacity: the mapped bytes of the buffer.
    ///   - transform: values that are not known count as none.
    /// - Returns: nil if the picture is empty, or not inside of the buffer.
    init?(
        _ format: StreamFormat, crop: PixelRect?, transform: UInt32 = 0, offset: UInt32, size: UInt32, stride: Int32,
        capacity: Int
    ) {
        self.transform = transform < 8 ? transform : 0
        let full = PixelRect(x: 0, y: 0, width: format.size.width, height: format.size.height)
        let seen = crop?.clipped(to: format.size) ?? full
        let even = PixelSize(
            width: min(seen.width, Self.largestSide), height: min(seen.height, Self.largestSide)
        ).even
        guard even.width > 0, even.height > 0, seen.x >= 0, seen.y >= 0 else { return nil }
        area = PixelRect(x: seen.x, y: seen.y, width: even.width, height: even.height)
        self.stride = Int(stride)
        guard self.stride >= format.size.width * 4, self.stride % 4 == 0, offset % 4 == 0 else { return nil }
        // The last row may end with its last pixel. All numbers fit in 32 bits, so nothing overflows.
        let bytes = self.stride * (format.size.height - 1) + format.size.width * 4
        guard bytes <= Int(size), Int(offset) + bytes <= capacity else { return nil }
        self.offset = Int(offset) + area.y * self.stride + area.x * 4
    }
}
