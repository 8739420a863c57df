public import MediaCore

extension DecoderConfiguration {
    /// The parameter sets of a record, as NAL units with their lengths in 4 bytes before them: what the beginning of a key
    /// frame of a file needs when frames with other sets come before it.
    /// - Parameter record: `avcC` (ISO/IEC 14496-15 section 5.3.3) or `hvcC` (section 8.3.3).
    /// - Returns: empty for other codecs; as many as are whole if the record is damaged.
    public static func parameterSets(of record: [UInt8], _ codec: VideoCodec) -> [UInt8] {
        var reader = RecordReader(record)
        switch codec {
        case .h264:
            reader.skip(5)
            reader.readUnits(count: reader.byte() & 0x1F)
            reader.readUnits(count: reader.byte())
        case .h265:
            reader.skip(22)
            for _ in 0..<reader.byte() {
                reader.skip(1)
                reader.readUnits(count: reader.number())
            }
        case .vp8, .vp9, .av1: break
        }
        return reader.units
    }
}

/// Reads a decoder configuration record. After its end there are zeros and no units.
private struct RecordReader {
    private let record: [UInt8]
    private var position = 0
    private(set) var units: [UInt8] = []

    init(_ record: [UInt8]) { self.record = record }

    mutating func skip(_ count: Int) { position += count }

    mutating func byte() -> Int {
        defer { position += 1 }
        return record.indices.contains(position) ? Int(record[position]) : 0
    }

    mutating func number() -> Int { byte() << 8 | byte() }

    mutating func readUnits(count: Int) {
        for _ in 0..<count {
            let length = number()
            guard length > 0, position + length <= record.count else { return }
            units += [0, 0] + [UInt8(length >> 8), UInt8(length & 0xFF)] + record[position..<position + length]
            position += length
        }
    }
}
