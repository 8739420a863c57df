/// A borrowed planar image of a decoder: Y, U and V of 8 to 16 bits, at any chroma resolution.
public struct PlanarImage {
    /// One component's samples, of one byte each, or two (little endian) beyond 8 bits.
    public struct Plane {
        public var bytes: UnsafeRawPointer
        /// In bytes.
        public var stride: Int

        public init(bytes: UnsafeRawPointer, stride: Int) {
            self.bytes = bytes
            self.stride = stride
        }
    }

    public var size: PixelSize
    public var y: Plane
    /// Nil for an image without colour.
    public var chroma: (u: Plane, v: Plane)?
    /// 8...16.
    public var bits: Int
    /// The chroma planes have half as many columns, half as many rows.
    public var isHalfWidth: Bool
    public var isHalfHeight: Bool
    public var color: VideoColor

    public init(
        size: PixelSize, y: Plane, chroma: (u: Plane, v: Plane)?, bits: Int, isHalfWidth: Bool, isHalfHeight: Bool,
        color: VideoColor = .limitedBT601
    ) {
        self.size = size
        self.y = y
        self.chroma = chroma
        self.bits = bits
        self.isHalfWidth = isHalfWidth
        self.isHalfHeight = isHalfHeight
        self.color = color
    }

    /// The image as it is, if it is what an `I420Frame` is; else nil.
    public var i420: I420Frame? {
        guard color == .limitedBT601, bits == 8, isHalfWidth, isHalfHeight, let chroma,
            chroma.u.stride == chroma.v.stride
        else { return nil }
        return I420Frame(
            size: size, y: y.bytes.assumingMemoryBound(to: UInt8.self),
            u: chroma.u.bytes.assumingMemoryBound(to: UInt8.self),
            v: chroma.v.bytes.assumingMemoryBound(to: UInt8.self), strideY: y.stride, strideC: chroma.u.stride)
    }

    /// Converts the image to what an `I420Frame` is.
    /// Of chroma planes with more samples every second one is taken.
    /// - Parameter buffer: of the image's even size.
    public func copy(to buffer: I420Buffer) {
        precondition(buffer.size == size.even && (8...16).contains(bits), "\(size) does not fit \(buffer.size)")
        defer { buffer.convert(from: color) }
        let (width, height) = (buffer.size.width, buffer.size.height)
        copy(y, to: buffer.y, buffer.strideY, width: width, height: height, columnStep: 1, rowStep: 1)
        guard let chroma else {
            for row in 0..<height / 2 {
                (buffer.u + row * buffer.strideC).update(repeating: 128, count: width / 2)
                (buffer.v + row * buffer.strideC).update(repeating: 128, count: width / 2)
            }
            return
        }
        for (plane, target) in [(chroma.u, buffer.u), (chroma.v, buffer.v)] {
            copy(
                plane, to: target, buffer.strideC, width: width / 2, height: height / 2,
                columnStep: isHalfWidth ? 1 : 2, rowStep: isHalfHeight ? 1 : 2)
        }
    }

    private func copy(
        _ plane: Plane, to target: UnsafeMutablePointer<UInt8>, _ stride: Int, width: Int, height: Int,
        columnStep: Int, rowStep: Int
    ) {
        let shift = bits - 8
        for row in 0..<height {
            let from = plane.bytes + row * rowStep * plane.stride
            let to = target + row * stride
            if shift == 0 {
                let samples = from.assumingMemoryBound(to: UInt8.self)
                for column in 0..<width { to[column] = samples[column * columnStep] }
            } else {
                let samples = from.assumingMemoryBound(to: UInt16.self)
                for column in 0..<width {
                    to[column] = UInt8(truncatingIfNeeded: min(samples[column * columnStep] >> shift, 255))
                }
            }
        }
    }
}

/// Makes frames of a decoder's images: without copying where they are I420 already.
///
/// - Isolation: confined to one thread.
public struct DecodedImageConverter {
    private var buffer: I420Buffer?

    public init() {}

    /// - Returns: valid until the next call, and as long as the image is.
    /// - Throws: if the image is too large, or smaller than two pixels where it has to be converted.
    public mutating func frame(_ image: PlanarImage) throws(CodecFailure) -> I420Frame {
        try DecoderLimits.check(image.size)
        return try converted(image)
    }

    /// As `frame`, for an image whose size has been checked.
    public mutating func converted(_ image: PlanarImage) throws(CodecFailure) -> I420Frame {
        if let frame = image.i420 { return frame }
        let size = image.size.even
        guard size.width > 0, size.height > 0 else {
            throw CodecFailure(
                code: -1, message: "a picture of \(image.size.width) x \(image.size.height) is too small")
        }
        if buffer?.size != size { buffer = nil }
        let buffer = buffer ?? I420Buffer(size)
        self.buffer = buffer
        image.copy(to: buffer)
        return buffer.frame
    }
}
