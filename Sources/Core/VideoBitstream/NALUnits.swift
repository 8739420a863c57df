/// The NAL units of H.264 and H.265: ITU-T H.264 annex B, ISO/IEC 14496-15.
public enum NALUnits {
    /// Calls `body` with each unit of a byte stream, without start codes and trailing zeros.
    public static func forEach(in stream: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var start: Int?
        var position = 0
        func end(_ limit: Int) {
            guard let start else { return }
            var end = limit
            while end > start, stream[end - 1] == 0 { end -= 1 }
            if end > start { body(UnsafeRawBufferPointer(rebasing: stream[start..<end])) }
        }
        while position + 2 < stream.count {
            if stream[position + 2] > 1 {
                position += 3
            } else if stream[position] == 0, stream[position + 1] == 0, stream[position + 2] == 1 {
                end(position)
                start = position + 3
                position += 3
            } else {
                position += 1
            }
        }
        end(stream.count)
    }

    /// The units of a byte stream with their lengths before them, in 4 bytes each: how files have them.
    public static func lengthPrefixed(_ stream: UnsafeRawBufferPointer) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(stream.count + 16)
        forEach(in: stream) { append($0, to: &result) }
        return result
    }

    /// Appends a unit with its length before it, in 4 bytes.
    static func append(_ unit: some Collection<UInt8>, to result: inout [UInt8]) {
        let length = UInt32(truncatingIfNeeded: unit.count)
        for shift: UInt32 in [24, 16, 8, 0] { result.append(UInt8(truncatingIfNeeded: length >> shift)) }
        result.append(contentsOf: unit)
    }

    /// The bytes of a unit without those that keep start codes out of it: H.264 section 7.3.1, H.265 section 7.3.1.1.
    static func withoutEmulationPrevention(_ unit: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var zeros = 0
        for byte in unit {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }
}
