internal import CAVCodec
public import MediaCore
internal import VideoBitstream

/// Decoder of H.264 and H.265 on libavcodec for hostile input, with one thread. `NALUnitFilter` checks the units before
/// libavcodec reads them, and a frame in which libavcodec has concealed errors counts as corrupt. After a corrupt frame
/// the libavcodec decoder is closed; a new one opens with the next key frame.
///
/// - Isolation: confined to one thread.
public final class H26xDecoder: VideoDecoder {
    /// What can be decoded on this machine. The first call blocks while libavcodec is loaded, if it is installed.
    public static let codecs: Set<VideoCodec> = {
        guard let library = FFmpegLibrary.shared else { return [] }
        return Set([VideoCodec.h264, .h265].filter { library.findDecoder(identifier(of: $0)) != nil })
    }()

    public private(set) var statistics = VideoDecoderStatistics()
    /// Whether only a key frame can be decoded next.
    public private(set) var needsKeyframe = true
    private let codec: VideoCodec
    private let library: FFmpegLibrary
    private var context: DecoderContext?
    private var filter: NALUnitFilter
    private var images = DecodedImageConverter()

    /// - Throws: if libavcodec is not installed, or cannot decode the codec.
    public init(_ codec: VideoCodec) throws(CodecFailure) {
        guard Self.codecs.contains(codec), let library = FFmpegLibrary.shared else {
            throw CodecFailure(code: -1, message: "libavcodec 59 is not installed, which decodes \(codec.rawValue)")
        }
        self.codec = codec
        self.library = library
        filter = NALUnitFilter(codec)
    }

    private static func identifier(of codec: VideoCodec) -> Int32 {
        Int32(codec == .h265 ? cav_codec_hevc : cav_codec_h264)
    }

    public func decode(
        _ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        do {
            return try decodeChecked(frame, colorSpace)
        } catch {
            statistics.corrupt += 1
            needsKeyframe = true
            context = nil
            throw error
        }
    }

    private func decodeChecked(
        _ frame: UnsafeRawBufferPointer, _ colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame? {
        try filter.take(frame)
        if needsKeyframe, !filter.beginsStream {
            statistics.unusable += 1
            throw CodecFailure(code: -1, message: "a frame came before its key frame")
        }
        let context: DecoderContext
        if let open = self.context {
            context = open
        } else {
            context = try DecoderContext(library, Self.identifier(of: codec))
            self.context = context
        }
        let decoded = try context.decode(&filter.units)
        needsKeyframe = false
        statistics.frames += 1
        return try decoded.map { (decoded) throws(CodecFailure) in try show(decoded, colorSpace) }
    }

    private func show(
        _ frame: UnsafePointer<cav_frame>, _ colorSpace: ColorSpace?
    ) throws(CodecFailure) -> I420Frame {
        let shown = frame.pointee
        let size = PixelSize(width: Int(shown.width), height: Int(shown.height))
        guard shown.decode_error_flags == 0 else { throw CodecFailure(code: -1, message: "a frame is damaged") }
        guard var image = library.image(shown, size) else {
            throw CodecFailure(code: -1, message: "libavcodec gave a picture of the unknown format \(shown.format)")
        }
        image.color = image.color.overridden(by: colorSpace)
        return try images.frame(image)
    }
}

extension FFmpegLibrary {
    /// - Returns: nil unless it is planar YUV of 8 to 16 bits, or grey.
    fileprivate func image(_ frame: cav_frame, _ size: PixelSize) -> PlanarImage? {
        guard let format = describeFormat(frame.format)?.pointee, let y = frame.data.0,
            format.flags & UInt64(cav_format_big_endian | cav_format_rgb) == 0,
            (8...16).contains(format.comp.0.depth), format.comp.0.plane == 0,
            Int(format.comp.0.step) == (format.comp.0.depth > 8 ? 2 : 1), format.log2_chroma_w <= 1,
            format.log2_chroma_h <= 1
        else { return nil }
        var image = PlanarImage(
            size: size, y: .init(bytes: y, stride: Int(frame.linesize.0)), chroma: nil,
            bits: Int(format.comp.0.depth), isHalfWidth: format.log2_chroma_w == 1,
            isHalfHeight: format.log2_chroma_h == 1,
            color: VideoColor(
                matrixCoefficients: Int(frame.colorspace), isFullRange: frame.color_range == cav_range_full))
        guard format.nb_components >= 3 else { return image }
        // Three planes: no two components share one.
        guard format.comp.1.plane == 1, format.comp.2.plane == 2, let u = frame.data.1, let v = frame.data.2 else {
            return nil
        }
        image.chroma = (
            .init(bytes: u, stride: Int(frame.linesize.1)), .init(bytes: v, stride: Int(frame.linesize.2))
        )
        return image
    }
}
