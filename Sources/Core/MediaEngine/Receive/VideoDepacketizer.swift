import MediaCore
import RTPWire
import VideoBitstream

/// What one RTP packet says of its video frame, whatever the codec.
struct DepacketizedVideo {
    /// The packet's part of the frame; empty for padding. Valid until the next packet.
    var bytes: UnsafeRawBufferPointer
    /// The packet is the first of its frame; see `VideoDepacketizer.startsAreMarked`.
    var isFrameStart = false
    /// The packet begins a key frame, or holds the parameter sets of one: others may stand before them.
    var isKeyframe = false
    /// The packet holds nothing of the picture itself: delimiters, parameter sets, SEI, metadata (non-VCL NAL units).
    var isNonVCL = false
    /// The packet has no payload: it only closes a gap in the sequence.
    var isPadding = false
    /// Temporal layer; 0 is the base.
    var layer: UInt8 = 0
    var layerSwitch = LayerSwitch.none
    /// No other frame refers to this one.
    var isNonReference = false
    var pictureID: UInt16?
}

/// Reads the RTP payload format of one codec: VP8 (RFC 7741), VP9 (RFC 9628), H.264 (RFC 6184, packetization modes 0
/// and 1), H.265 (RFC 7798), AV1 (the Alliance for Open Media's). `FrameAssembler` evaluates the RTP marker, which all
/// of them set in a frame's last packet.
///
/// Key frames of H.264 and H.265 are recognised by the parameter sets in front of them, which WebRTC sends with each
/// (RFC 7742 section 6.2).
struct VideoDepacketizer {
    let codec: VideoCodec
    private let memory: Memory

    /// Where a packet or a frame is put together.
    private final class Memory {
        let packet = PacketSlab(capacity: 1, slotBytes: 2_048)
        var packetLength = 0
        private var frame: UnsafeMutableRawBufferPointer?

        func append(_ bytes: UnsafeRawBufferPointer) throws(RTPMalformed) {
            guard bytes.count <= packet[0].count - packetLength else { throw RTPMalformed(.payloadFormat) }
            UnsafeMutableRawBufferPointer(rebasing: packet[0][packetLength...]).copyMemory(from: bytes)
            packetLength += bytes.count
        }

        func append(byte: UInt8) throws(RTPMalformed) {
            guard packetLength < packet[0].count else { throw RTPMalformed(.payloadFormat) }
            packet[0][packetLength] = byte
            packetLength += 1
        }

        /// The start code of a NAL unit's byte stream.
        func appendStartCode() throws(RTPMalformed) {
            try append(byte: 0)
            try append(byte: 0)
            try append(byte: 0)
            try append(byte: 1)
        }

        func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
            frame?.deallocate()
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            copy.copyBytes(from: bytes)
            frame = copy
            return UnsafeRawBufferPointer(copy)
        }

        deinit { frame?.deallocate() }
    }

    init(_ codec: VideoCodec) {
        self.codec = codec
        memory = Memory()
    }

    /// Whether packets say that they are the first of a frame.
    var startsAreMarked: Bool { codec == .vp8 || codec == .vp9 }

    /// - Parameter payload: of the RTP packet, without padding.
    /// - Throws: `.vp8Descriptor` or `.payloadFormat` if the payload is malformed.
    @inline(__always)
    func depacketize(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        guard !payload.isEmpty else { return DepacketizedVideo(bytes: payload, isPadding: true) }
        return codec == .vp8 ? try Self.vp8(payload) : try other(payload)
    }

    private func other(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        switch codec {
        case .vp8: try Self.vp8(payload)
        case .vp9: try vp9(payload)
        case .h264: try h264(payload)
        case .h265: try h265(payload)
        case .av1: try av1(payload)
        }
    }

    private static func vp8(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        let (descriptor, data) = try VP8PayloadDescriptor.parse(payload)
        return DepacketizedVideo(
            bytes: data, isFrameStart: descriptor.isFrameStart,
            isKeyframe: descriptor.isFrameStart && ((try? VP8FrameHeader(data))?.isKeyframe ?? false),
            layer: descriptor.temporalLayer ?? 0, layerSwitch: descriptor.isLayerSync ? .own : .none,
            isNonReference: descriptor.isNonReference, pictureID: descriptor.pictureID)
    }

    private func vp9(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        let (descriptor, data) = try VP9PayloadDescriptor.parse(payload)
        // A picture with spatial layers begins with the lowest one.
        let isStart = descriptor.isFrameStart && descriptor.spatialLayer ?? 0 == 0
        return DepacketizedVideo(
            // Some senders never say that a frame is predicted.
            bytes: data, isFrameStart: isStart,
            isKeyframe: isStart && !descriptor.isInterPredicted && VP9FrameHeader.isKeyframe(data),
            layer: descriptor.temporalLayer ?? 0, layerSwitch: descriptor.isSwitchingUpPoint ? .higher : .none,
            pictureID: descriptor.pictureID)
    }

    // MARK: NAL units

    private static let malformed = RTPMalformed(.payloadFormat)

    /// RFC 6184 sections 5.6 to 5.8.
    private func h264(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        memory.packetLength = 0
        let header = payload[0]
        var isKeyframe = false
        var isNonVCL = true
        switch header & 0x1F {
        case 1...23:
            try appendUnit(payload)
            isKeyframe = header & 0x1F == Self.sequenceParameterSet
            isNonVCL = !Self.isVCL(h264: header)
        case 24:
            try forEachUnit(in: payload, after: 1) { unit throws(RTPMalformed) in
                isKeyframe = isKeyframe || unit[0] & 0x1F == Self.sequenceParameterSet
                isNonVCL = isNonVCL && !Self.isVCL(h264: unit[0])
                try appendUnit(unit)
            }
        case 28:
            guard payload.count > 2 else { throw Self.malformed }
            let fragment = payload[1]
            isNonVCL = !Self.isVCL(h264: fragment)
            if fragment & 0x80 != 0 {
                try memory.appendStartCode()
                try memory.append(byte: header & 0xE0 | fragment & 0x1F)
                isKeyframe = fragment & 0x1F == Self.sequenceParameterSet
            }
            try memory.append(UnsafeRawBufferPointer(rebasing: payload[2...]))
        default: throw Self.malformed
        }
        return DepacketizedVideo(bytes: joined, isKeyframe: isKeyframe, isNonVCL: isNonVCL)
    }

    /// ITU-T H.264 table 7-1.
    private static let sequenceParameterSet: UInt8 = 7
    /// ITU-T H.265 table 7-1.
    private static let videoParameterSet: UInt8 = 32

    /// Whether a unit belongs to the coded picture, by its first byte or its FU header.
    private static func isVCL(h264 byte: UInt8) -> Bool {
        switch byte & 0x1F {
        case 1...5, 19...21: true
        default: false
        }
    }

    /// Whether a unit belongs to the coded picture, by its type.
    private static func isVCL(h265 type: UInt8) -> Bool { type < videoParameterSet }

    /// RFC 7798 section 4.4.
    private func h265(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        memory.packetLength = 0
        guard payload.count > 2 else { throw Self.malformed }
        var isKeyframe = false
        var isNonVCL = true
        switch payload[0] >> 1 & 0x3F {
        case 0...47:
            try appendUnit(payload)
            isKeyframe = payload[0] >> 1 & 0x3F == Self.videoParameterSet
            isNonVCL = !Self.isVCL(h265: payload[0] >> 1 & 0x3F)
        case 48:
            try forEachUnit(in: payload, after: 2) { unit throws(RTPMalformed) in
                isKeyframe = isKeyframe || unit[0] >> 1 & 0x3F == Self.videoParameterSet
                isNonVCL = isNonVCL && !Self.isVCL(h265: unit[0] >> 1 & 0x3F)
                try appendUnit(unit)
            }
        case 49:
            guard payload.count > 3 else { throw Self.malformed }
            let type = payload[2] & 0x3F
            isNonVCL = !Self.isVCL(h265: type)
            if payload[2] & 0x80 != 0 {
                try memory.appendStartCode()
                try memory.append(byte: payload[0] & 0x81 | type << 1)
                try memory.append(byte: payload[1])
                isKeyframe = type == Self.videoParameterSet
            }
            try memory.append(UnsafeRawBufferPointer(rebasing: payload[3...]))
        default: throw Self.malformed
        }
        return DepacketizedVideo(bytes: joined, isKeyframe: isKeyframe, isNonVCL: isNonVCL)
    }

    /// Calls `body` with each unit of an aggregation packet: at least one byte each.
    private func forEachUnit(
        in payload: UnsafeRawBufferPointer, after header: Int,
        _ body: (UnsafeRawBufferPointer) throws(RTPMalformed) -> Void
    ) throws(RTPMalformed) {
        var reader = ByteReader(payload)
        try reader.skip(header)
        guard reader.remaining > 0 else { throw Self.malformed }
        while reader.remaining > 0 {
            guard let length = try? reader.uint16(), length > 0, let unit = try? reader.bytes(Int(length)) else {
                throw Self.malformed
            }
            try body(unit)
        }
    }

    private func appendUnit(_ unit: UnsafeRawBufferPointer) throws(RTPMalformed) {
        try memory.appendStartCode()
        try memory.append(unit)
    }

    private var joined: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory.packet[0][..<memory.packetLength])
    }

    // MARK: AV1

    /// The packet stays as it is: how long its units are is known at the end of the frame.
    private func av1(_ payload: UnsafeRawBufferPointer) throws(RTPMalformed) -> DepacketizedVideo {
        guard payload.count > 1 else { throw Self.malformed }
        let isContinued = payload[0] & 0x80 != 0
        let startsSequence = payload[0] & 0x08 != 0
        guard !(isContinued && startsSequence) else { throw Self.malformed }
        return DepacketizedVideo(
            bytes: payload, isKeyframe: startsSequence, isNonVCL: AV1Aggregation.isNonVCL(payload))
    }

    // MARK: Frames

    /// Whether a frame is more than its packets' parts, one behind the other.
    var joinsPackets: Bool { codec == .av1 }

    /// Makes a frame of the packets' parts; see `joinsPackets`.
    /// - Returns: nil if it is malformed. Valid until the next call.
    func frame(_ parts: EncodedFrameBytes) -> EncodedFrameBytes? {
        guard let units = AV1Aggregation.frame(of: parts) else { return nil }
        return EncodedFrameBytes(memory.keep(units))
    }

    /// Parameter sets and sequence headers end before here.
    private static let longestHeader = 4_096

    /// The size in pixels that a whole key frame gives; nil for malformed ones.
    func size(of frame: EncodedFrameBytes) -> PixelSize? {
        // The first packet need not hold the whole header.
        let longest = codec == .vp8 ? VP8FrameHeader.keyframeLength : Self.longestHeader
        return withUnsafeTemporaryAllocation(byteCount: longest, alignment: 1) { start in
            let length = frame.copy(to: start)
            return DecoderConfiguration(codec, keyframe: UnsafeRawBufferPointer(rebasing: start[..<length]))?.size
        }
    }
}
