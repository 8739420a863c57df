internal import CVPX
public import MediaCore

/// VP8 decoder on libvpx for hostile input, with one thread. The frame header is checked before libvpx reads the frame.
/// After a corrupt frame the libvpx decoder is closed; a new one opens with the next key frame.
///
/// - Isolation: confined to one thread.
public final class VP8Decoder: VideoDecoder {
    /// Limits of a frame's sides and area, in pixels. At 64 Mpx each of libvpx's four frame buffers takes about 100 MB.
    public static let maximumSide = 8_192
    public static let maximumPixels = 64 << 20

    public struct Statistics: Equatable, Sendable {
        public var frames = 0
        public var keyframes = 0
        /// Frames that could not be decoded, for any reason, `unusable` included.
        public var corrupt = 0
        /// Inter frames that arrived while a key frame was needed.
        public var unusable = 0
        /// Key frames that changed the frame size.
        public var resizes = 0
    }

    public private(set) var statistics = Statistics()
    /// Whether only a key frame can be decoded next.
    public private(set) var needsKeyframe = true
    /// The size of the last key frame.
    public private(set) var size: PixelSize?
    private let library = VPXDecoderContext(.vp8)
    private var images = DecodedImageConverter()

    public init() {}

    public func decode(
        _ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        do {
            return try decodeChecked(frame, colorSpace)
        } catch {
            statistics.corrupt += 1
            needsKeyframe = true
            library.close()
            throw error
        }
    }

    private func decodeChecked(
        _ frame: UnsafeRawBufferPointer, _ colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        let header = try VP8FrameTag(frame)
        if let newSize = header.size {
            guard newSize.width <= Self.maximumSide, newSize.height <= Self.maximumSide,
                newSize.width * newSize.height <= Self.maximumPixels
            else {
                throw CodecFailure(code: -1, message: "a picture of \(newSize.width) x \(newSize.height) is too large")
            }
            if let size, size != newSize { statistics.resizes += 1 }
            size = newSize
        } else if needsKeyframe {
            statistics.unusable += 1
            throw CodecFailure(code: -1, message: "a frame came before its key frame")
        }

        let context = try library.open()
        let code = vpx_codec_decode(
            context, frame.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(frame.count), nil, 0)
        guard code == VPX_CODEC_OK else { throw .vpx(code, context, "decode a frame") }
        needsKeyframe = false
        statistics.frames += 1
        if header.size != nil { statistics.keyframes += 1 }

        var iterator: vpx_codec_iter_t?
        guard let image = vpx_codec_get_frame(context, &iterator) else { return nil }
        let shown = image.pointee
        guard shown.fmt == VPX_IMG_FMT_I420, let y = shown.planes.0, let u = shown.planes.1, let v = shown.planes.2,
            shown.stride.1 == shown.stride.2, PixelSize(width: Int(shown.d_w), height: Int(shown.d_h)) == size
        else { throw CodecFailure(code: -1, message: "libvpx gave a picture of another shape than announced") }
        return try images.converted(
            PlanarImage(
                size: PixelSize(width: Int(shown.d_w), height: Int(shown.d_h)),
                y: .init(bytes: y, stride: Int(shown.stride.0)),
                chroma: (
                    .init(bytes: u, stride: Int(shown.stride.1)), .init(bytes: v, stride: Int(shown.stride.2))
                ), bits: 8, isHalfWidth: true, isHalfHeight: true,
                color: .limitedBT601.overridden(by: colorSpace)))
    }
}
