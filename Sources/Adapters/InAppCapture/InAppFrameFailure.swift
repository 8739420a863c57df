public import MediaCore

/// Why a frame of an app is not taken. The frames before it stay.
public enum InAppFrameFailure: Error, Equatable, Sendable {
    /// A side is under 2 or over 8,192 pixels.
    case size(PixelSize)
    /// The stride is shorter than a row, in bytes.
    case stride(Int)
    /// The frame does not lie inside the shared memory, which has this many bytes.
    case outside(byteCount: Int)
    /// The descriptor is not that of readable shared memory (error code of the system).
    case descriptor(Int32)

    /// - Parameter stride: nil for memory of the surface's own.
    static func check(
        _ size: PixelSize, stride: Int? = nil, rowBytes: (_ width: Int) -> Int
    ) throws(InAppFrameFailure) {
        let sides = 2...InAppSurface.longestSide
        guard sides.contains(size.width), sides.contains(size.height) else { throw .size(size) }
        if let stride, stride < rowBytes(size.width) { throw .stride(stride) }
    }

    static func checkBGRA(_ size: PixelSize, stride: Int? = nil) throws(InAppFrameFailure) {
        try check(size, stride: stride) { $0 * 4 }
    }
}
