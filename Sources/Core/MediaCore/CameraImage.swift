/// A borrowed picture as a camera delivers it; valid only as long as its provider says.
public struct CameraImage {
    /// The order of the bytes in memory.
    public enum Format: Hashable, Sendable, CaseIterable {
        /// 4:2:2 in one plane: Y, U, Y, V (also called YUY2).
        case yuyv
        /// 4:2:2 in one plane: U, Y, V, Y.
        case uyvy
        /// 4:2:0: the plane Y, then a plane of U and V in turn.
        case nv12
        /// 4:2:0: the planes Y, U and V.
        case i420
        /// B, G, R, X; X may be alpha.
        case bgrx
        /// R, G, B, X; X may be alpha.
        case rgbx
        /// R, G, B.
        case rgb
        /// B, G, R.
        case bgr
        /// The plane Y alone.
        case gray
        /// A JPEG file.
        case jpeg
    }

    /// How the planes of an image lie in its bytes. All of them are inside.
    public struct Layout: Hashable, Sendable {
        public let format: Format
        /// In pixels; sides may be odd.
        public let size: PixelSize
        /// Bytes from one row of the first plane to the next.
        public let stride: Int
        /// Bytes from one row of the second and third plane to the next; 0 without them.
        public let chromaStride: Int
        /// Where the second and the third plane begin; 0 without them.
        public let secondPlane: Int
        public let thirdPlane: Int

        /// The largest side, in pixels: even, and what VP8 takes.
        public static let largestSide = 16_382

        /// Checks what another program says about an image.
        /// - Parameters:
        ///   - stride: of the first plane; 0: no padding.
        ///   - count: how many bytes there are.
        /// - Returns: nil if the image is empty, too large, or not inside of the bytes.
        public init?(_ format: Format, _ size: PixelSize, stride: Int, count: Int) {
            let sides = 2...Self.largestSide
            guard sides.contains(size.width), sides.contains(size.height), (0...1 << 20).contains(stride) else {
                return nil
            }
            self.format = format
            self.size = size
            guard format != .jpeg else {
                // Smaller than any header.
                guard count >= 128 else { return nil }
                (self.stride, chromaStride, secondPlane, thirdPlane) = (0, 0, 0, 0)
                return
            }
            let (width, rows) = (size.width, (size.height + 1) / 2)
            let least = (width * format.bitsOfRow + 7) / 8
            let stride = stride == 0 ? format == .yuyv || format == .uyvy ? (width + 1) / 2 * 4 : least : stride
            guard stride >= least else { return nil }
            self.stride = stride
            switch format {
            case .nv12:
                // The height of the first plane is even for some senders.
                let second = stride * (count >= stride * rows * 3 ? rows * 2 : size.height)
                (secondPlane, thirdPlane, chromaStride) = (second, 0, stride)
                guard second + stride * (rows - 1) + (width + 1) / 2 * 2 <= count else { return nil }
            case .i420:
                let columns = (width + 1) / 2
                // GStreamer pads to 4 bytes, V4L2 halves the stride of the first plane.
                let padded = (columns + 3) & ~3
                let isPadded = stride == (width + 3) & ~3 && count >= stride * rows * 2 + padded * rows * 2
                chromaStride = isPadded ? padded : max((stride + 1) / 2, columns)
                secondPlane = stride * (isPadded ? rows * 2 : size.height)
                thirdPlane = secondPlane + chromaStride * rows
                guard thirdPlane + chromaStride * (rows - 1) + columns <= count else { return nil }
            default:
                (secondPlane, thirdPlane, chromaStride) = (0, 0, 0)
                guard stride * (size.height - 1) + least <= count else { return nil }
            }
        }
    }

    public let layout: Layout
    public let bytes: UnsafeRawBufferPointer

    /// - Parameter bytes: as many as the layout was made for.
    public init(_ layout: Layout, _ bytes: UnsafeRawBufferPointer) {
        self.layout = layout
        self.bytes = bytes
    }
}

extension CameraImage.Format {
    /// Of the first plane, for each pixel.
    fileprivate var bitsOfRow: Int {
        switch self {
        case .yuyv, .uyvy: 16
        case .nv12, .i420, .gray: 8
        case .bgrx, .rgbx: 32
        case .rgb, .bgr: 24
        case .jpeg: 0
        }
    }
}

/// Brings the images of cameras into the form of frames.
public protocol CameraConverter: PixelConverter {
    /// Converts a whole image to BT.601, limited range.
    /// - Parameter canvas: of the image's size, rounded down to even sides.
    /// - Returns: false if the image is damaged, which only a JPEG can be; the canvas is then unspecified.
    func convert(_ image: CameraImage, to canvas: I420Buffer) -> Bool

    /// Copies a frame, left and right exchanged.
    /// - Parameter canvas: of the same size.
    func mirror(_ frame: I420Frame, to canvas: I420Buffer)
}
