import MediaCore
import RTPWire

/// What one RTP packet says of its video frame, whatever the codec.
struct DepacketizedVideo {
    /// The packet's part of the frame; empty for padding. Borrowed from the packet.
    var bytes: UnsafeRawBufferPointer
    /// The packet is the first of its frame.
    var isFrameStart = false
    /// Known from the first packet alone; false in the others.
    var isKeyframe = false
    /// The packet has no payload: it only closes a gap in the sequence.
    var isPadding = false
    /// Temporal layer; 0 is the base.
    var layer: UInt8 = 0
    var pictureID: UInt16?
}

/// Depacketizes VP8: RFC 7741. The RTP marker of a frame's last packet (section 4.1) is evaluated by `FrameAssembler`.
enum VP8Depacketizer {
    static let codec = VideoCodec.vp8

    /// - Parameter payload: of the RTP packet, without padding.
    /// - Throws: `.vp8Descriptor` if the payload ends before the VP8 data.
    static func depacketize(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        guard !payload.isEmpty else { return DepacketizedVideo(bytes: payload, isPadding: true) }
        let (descriptor, data) = try VP8PayloadDescriptor.parse(payload)
        return DepacketizedVideo(
            bytes: data, isFrameStart: descriptor.isFrameStart,
            isKeyframe: descriptor.isFrameStart && ((try? VP8FrameHeader(data))?.isKeyframe ?? false),
            layer: descriptor.temporalLayer ?? 0, pictureID: descriptor.pictureID)
    }

    /// The size in pixels that a whole key frame gives; nil for other frames and malformed ones.
    static func size(of frame: EncodedFrameBytes) -> PixelSize? {
        // The first packet need not hold the whole header.
        withUnsafeTemporaryAllocation(byteCount: VP8FrameHeader.keyframeLength, alignment: 1) { start in
            let length = frame.copy(to: start)
            return (try? VP8FrameHeader(UnsafeRawBufferPointer(rebasing: start[..<length])))?.size
        }
    }
}
