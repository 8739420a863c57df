public import MediaCore

/// The switches over the codec stand in this file alone.
extension DecoderConfiguration {
    /// Reads the start of a key frame.
    /// - Parameter keyframe: as `EncodedVideoFrame.bytes`; the beginning suffices if it has all parameter sets.
    /// - Returns: nil if the frame does not begin as a key frame of the codec does.
    public init?(_ codec: VideoCodec, keyframe: UnsafeRawBufferPointer) {
        switch codec {
        case .vp8: self.init(vp8: keyframe)
        case .vp9: self.init(vp9: keyframe)
        case .h264: self.init(h264: keyframe)
        case .h265: self.init(h265: keyframe)
        case .av1: self.init(av1: keyframe)
        }
    }

    /// The parameter sets of a record, as NAL units with their lengths in 4 bytes before them: what the beginning of a
    /// key frame of a file needs when frames with other sets come before it.
    /// - Parameter record: `avcC` (ISO/IEC 14496-15 section 5.3.3) or `hvcC` (section 8.3.3).
    /// - Returns: empty for other codecs; as many as are whole if the record is damaged.
    public static func parameterSets(of record: [UInt8], _ codec: VideoCodec) -> [UInt8] {
        var reader = BitReader(record)
        var units: [UInt8] = []
        switch codec {
        case .h264:
            reader.skip(8 * 5)
            reader.readUnits(count: reader.bits(8) & 0x1F, into: &units)
            reader.readUnits(count: reader.bits(8), into: &units)
        case .h265:
            reader.skip(8 * 22)
            for _ in 0..<reader.bits(8) {
                reader.skip(8)
                reader.readUnits(count: reader.bits(16), into: &units)
            }
        case .vp8, .vp9, .av1: break
        }
        return units
    }
}

extension VideoCodec {
    /// Its frames consist of NAL units.
    public var hasNALUnits: Bool { lengthSizePlace != nil }

    /// The place of `lengthSizeMinusOne` in the decoder configuration record: ISO/IEC 14496-15 sections 5.3.3 and
    /// 8.3.3. Nil for codecs without NAL units.
    public var lengthSizePlace: Int? {
        switch self {
        case .h264: 4
        case .h265: 21
        case .vp8, .vp9, .av1: nil
        }
    }
}

extension NALUnits {
    /// The size of the pictures that a sequence parameter set announces, before cropping.
    /// - Parameter unit: with its header.
    /// - Returns: nil if it is malformed, or the codec has no such units.
    public static func codedSize(ofSequenceParameterSet unit: UnsafeRawBufferPointer, _ codec: VideoCodec) -> PixelSize?
    {
        switch codec {
        case .h264: H264SequenceParameterSet(Array(unit))?.codedSize
        case .h265: H265SequenceParameterSet(Array(unit))?.codedSize
        case .vp8, .vp9, .av1: nil
        }
    }
}

extension BitReader {
    /// Reads units with their lengths in 2 bytes before them, up to the first that is not whole.
    fileprivate mutating func readUnits(count: Int, into units: inout [UInt8]) {
        for _ in 0..<count {
            let length = bits(16)
            let unit = (0..<length).map { _ in UInt8(truncatingIfNeeded: bits(8)) }
            guard length > 0, !hasOverrun else { return }
            NALUnits.append(unit, to: &units)
        }
    }
}
