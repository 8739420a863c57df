internal import CVPX
public import MediaCore
internal import VideoBitstream

/// VP9 decoder on libvpx for hostile input, with one thread. The header of each frame is checked before libvpx reads
/// it: a frame of any kind may have a size of its own. After a corrupt frame the libvpx decoder is closed; a new one
/// opens with the next key frame.
///
/// libvpx takes bytes after a frame for a further one, whose size nothing has checked. An index says where it ends. Of
/// spatial layers without an index, the lowest is therefore decoded.
/// - Isolation: confined to one thread.
public final class VP9Decoder: VideoDecoder {
    public private(set) var statistics = VideoDecoderStatistics()
    /// Whether only a key frame can be decoded next.
    public private(set) var needsKeyframe = true
    private let library = VPXDecoderContext(.vp9)
    private var chunk: [UInt8] = []
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
        try check(frame)
        let context = try library.open()
        let code = chunk.withUnsafeBufferPointer {
            vpx_codec_decode(context, $0.baseAddress, UInt32(truncatingIfNeeded: $0.count), nil, 0)
        }
        guard code == VPX_CODEC_OK else { throw .vpx(code, context, "decode a frame") }
        needsKeyframe = false
        statistics.frames += 1
        var iterator: vpx_codec_iter_t?
        var newest: UnsafeMutablePointer<vpx_image_t>?
        while let image = vpx_codec_get_frame(context, &iterator) { newest = image }
        return try newest.map { (image) throws(CodecFailure) in try show(image.pointee, colorSpace) }
    }

    /// Checks the headers, and puts the frame with its index into `chunk`.
    private func check(_ frame: UnsafeRawBufferPointer) throws(CodecFailure) {
        guard (1...DecoderLimits.maximumBytes).contains(frame.count), let parts = VP9Superframe(frame) else {
            throw Self.malformed("its index does not fit \(frame.count) bytes")
        }
        for (number, range) in parts.frames.enumerated() {
            guard let header = VP9FrameHeader(UnsafeRawBufferPointer(rebasing: frame[range])) else {
                throw Self.malformed("its header is wrong")
            }
            if let size = header.size { try DecoderLimits.check(size) }
            guard number > 0 || header.isKeyframe || !needsKeyframe else {
                statistics.unusable += 1
                throw CodecFailure(code: -1, message: "a frame came before its key frame")
            }
        }
        chunk.removeAll(keepingCapacity: true)
        chunk.append(contentsOf: frame)
        if !parts.hasIndex { chunk += VP9Superframe.index(ofFrame: frame.count) }
    }

    private static func malformed(_ why: String) -> CodecFailure {
        CodecFailure(code: -1, message: "not a VP9 frame: \(why)")
    }

    private func show(_ image: vpx_image_t, _ colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame {
        let size = PixelSize(width: Int(image.d_w), height: Int(image.d_h))
        guard let y = image.planes.0, let u = image.planes.1, let v = image.planes.2,
            image.x_chroma_shift <= 1, image.y_chroma_shift <= 1, (8...12).contains(image.bit_depth)
        else { throw CodecFailure(code: -1, message: "libvpx gave a picture of an unknown format") }
        let isWide = image.fmt.rawValue & UInt32(VPX_IMG_FMT_HIGHBITDEPTH) != 0
        let planar = PlanarImage(
            size: size, y: .init(bytes: y, stride: Int(image.stride.0)),
            chroma: (
                .init(bytes: u, stride: Int(image.stride.1)), .init(bytes: v, stride: Int(image.stride.2))
            ), bits: isWide ? max(Int(image.bit_depth), 9) : 8, isHalfWidth: image.x_chroma_shift == 1,
            isHalfHeight: image.y_chroma_shift == 1, color: Self.color(image).overridden(by: colorSpace))
        return try images.frame(planar)
    }

    /// VP9 specification section 7.2.2.
    private static func color(_ image: vpx_image_t) -> VideoColor {
        let matrix: VideoColor.Matrix =
            switch image.cs {
            case VPX_CS_BT_709: .bt709
            case VPX_CS_BT_2020: .bt2020
            default: .bt601
            }
        return VideoColor(matrix: matrix, isFullRange: image.range == VPX_CR_FULL_RANGE)
    }
}
