public import MediaCore

extension DecoderConfiguration {
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
