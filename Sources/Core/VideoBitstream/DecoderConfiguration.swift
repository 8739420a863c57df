public import MediaCore
import RTPWire

/// What a file has to say of a video stream before its first frame.
public struct DecoderConfiguration: Equatable, Sendable {
    /// In pixels, 1...65,535 each.
    public var size: PixelSize
    /// The decoder configuration record of MP4, which Matroska has as `CodecPrivate`: `avcC` (ISO/IEC 14496-15 section
    /// 5.3.3), `hvcC` (section 8.3.3), `av1C` (AV1 in ISOBMFF section 2.3). Empty for VP8 and VP9.
    public var record: [UInt8]

    /// Nil unless the size is valid.
    init?(width: Int, height: Int, record: [UInt8] = []) {
        guard (1...65_535).contains(width), (1...65_535).contains(height) else { return nil }
        size = PixelSize(width: width, height: height)
        self.record = record
    }

    init?(vp8 frame: UnsafeRawBufferPointer) {
        guard let size = (try? VP8FrameHeader(frame))?.size else { return nil }
        self.init(width: size.width, height: size.height)
    }

    init?(vp9 frame: UnsafeRawBufferPointer) {
        guard let header = VP9FrameHeader(frame), header.isKeyframe, let size = header.size else { return nil }
        self.init(width: size.width, height: size.height)
    }
}
