public import MediaCore

/// The open bitstream units (OBU) of AV1: AV1 Bitstream & Decoding Process Specification section 5.3.
public enum AV1Units {
    static let sequenceHeader: UInt8 = 1
    private static let temporalDelimiter: UInt8 = 2
    private static let metadata: UInt8 = 5
    private static let tileList: UInt8 = 8
    private static let padding: UInt8 = 15

    /// A number of `leb128()`, section 4.10.5.
    /// - Returns: nil if it is cut off, or exceeds 32 bits.
    public static func number(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Int? {
        var value = 0
        for shift in stride(from: 0, to: 35, by: 7) {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value <= Int(UInt32.max) ? value : nil }
        }
        return nil
    }

    /// Whether a unit with this first byte is no part of a frame: delimiters, sequence headers, metadata, padding.
    public static func isOutsideOfFrames(_ header: UInt8) -> Bool {
        [sequenceHeader, temporalDelimiter, metadata, padding].contains(header >> 3 & 0x0F)
    }

    static func bytes(of number: Int) -> [UInt8] {
        var result: [UInt8] = []
        var rest = number
        repeat {
            result.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return result
    }

    /// Appends a unit with its size, as files have it. Units that files do not have are left out: temporal delimiters,
    /// tile lists and padding.
    /// - Parameter unit: with or without a size of its own.
    /// - Returns: false if the unit is malformed; nothing was appended then.
    public static func append(_ unit: UnsafeRawBufferPointer, to frame: inout [UInt8]) -> Bool {
        guard let header = unit.first, header & 0x80 == 0 else { return false }
        let type = header >> 3 & 0x0F
        var position = header & 0x04 != 0 ? 2 : 1
        guard position <= unit.count else { return false }
        let headerLength = position
        var length = unit.count - position
        if header & 0x02 != 0 {
            guard let own = number(unit, at: &position), own <= unit.count - position else { return false }
            length = own
        }
        guard type != temporalDelimiter, type != tileList, type != padding else { return true }
        frame.append(header | 0x02)
        if headerLength == 2 { frame.append(unit[1]) }
        frame += bytes(of: length)
        frame.append(contentsOf: unit[position..<(position + length)])
        return true
    }

    /// The sizes of all sequence headers of a frame; no frame that refers to one exceeds its size.
    /// - Returns: nil if a unit or a header is malformed.
    public static func sequenceSizes(in frame: UnsafeRawBufferPointer) -> [PixelSize]? {
        var sizes: [PixelSize] = []
        var end = 0
        var isValid = true
        forEach(in: frame) { type, unit, content in
            end = unit.upperBound
            guard type == sequenceHeader else { return }
            guard let header = AV1SequenceHeader(frame[content]) else { return isValid = false }
            sizes.append(PixelSize(width: header.width, height: header.height))
        }
        return isValid && end == frame.count ? sizes : nil
    }

    /// Calls `body` with each unit of a frame, up to malformed bytes.
    static func forEach(
        in frame: UnsafeRawBufferPointer, _ body: (_ type: UInt8, _ unit: Range<Int>, _ content: Range<Int>) -> Void
    ) {
        var position = 0
        while position < frame.count {
            let start = position
            let header = frame[position]
            guard header & 0x80 == 0, header & 0x02 != 0 else { return }
            position += header & 0x04 != 0 ? 2 : 1
            guard let length = number(frame, at: &position), length <= frame.count - position else { return }
            body(header >> 3 & 0x0F, start..<(position + length), position..<(position + length))
            position += length
        }
    }
}

extension DecoderConfiguration {
    /// Of the first sequence header.
    init?(av1 frame: UnsafeRawBufferPointer) {
        var found: (unit: Range<Int>, content: Range<Int>)?
        AV1Units.forEach(in: frame) { type, unit, content in
            if type == AV1Units.sequenceHeader, found == nil { found = (unit, content) }
        }
        guard let found, found.unit.count <= 65_535, let header = AV1SequenceHeader(frame[found.content]) else {
            return nil
        }
        let flags: [Bool] = [
            header.tier, header.hasHighDepth, header.hasTwelveBits, header.isMonochrome, header.isHalfWidth,
            header.isHalfHeight,
        ]
        let format = flags.reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) } << 2 | UInt8(header.samplePosition)
        let record: [UInt8] = [0x81, UInt8(header.profile << 5 | header.level), format, 0]
        self.init(width: header.width, height: header.height, record: record + frame[found.unit])
    }
}

/// AV1 specification section 5.5.
struct AV1SequenceHeader {
    /// 0...7.
    var profile: Int
    /// `seq_level_idx` of the first operating point, 0...31.
    var level = 0
    var tier = false
    var width: Int
    var height: Int
    var hasHighDepth = false
    var hasTwelveBits = false
    var isMonochrome = false
    /// The chroma planes have half as many columns.
    var isHalfWidth = true
    var isHalfHeight = true
    /// `chroma_sample_position`, 0...3.
    var samplePosition = 0

    init?(_ bytes: some Sequence<UInt8>) {
        var reader = BitReader(bytes)
        profile = reader.bits(3)
        reader.skip(1)
        let isReduced = reader.bit()
        (width, height) = (0, 0)
        if isReduced { level = reader.bits(5) } else { readOperatingPoints(&reader) }
        let widthBits = reader.bits(4) + 1
        let heightBits = reader.bits(4) + 1
        width = reader.bits(widthBits) + 1
        height = reader.bits(heightBits) + 1
        Self.skipTools(&reader, isReduced)
        readColor(&reader)
        guard !reader.hasOverrun else { return nil }
    }

    private mutating func readOperatingPoints(_ reader: inout BitReader) {
        var delayBits: Int?
        if reader.bit() {
            reader.skip(64)
            if reader.bit() { _ = reader.exponentialGolomb() }
            if reader.bit() {
                delayBits = reader.bits(5) + 1
                reader.skip(42)
            }
        }
        let hasInitialDelay = reader.bit()
        for point in 0...reader.bits(5) {
            reader.skip(12)
            let level = reader.bits(5)
            let tier = level > 7 && reader.bit()
            if point == 0 { (self.level, self.tier) = (level, tier) }
            if let delayBits, reader.bit() { reader.skip(2 * delayBits + 1) }
            if hasInitialDelay, reader.bit() { reader.skip(4) }
        }
    }

    /// From `frame_id_numbers_present_flag` to `enable_restoration`.
    private static func skipTools(_ reader: inout BitReader, _ isReduced: Bool) {
        if !isReduced, reader.bit() { reader.skip(7) }
        reader.skip(3)
        if !isReduced {
            reader.skip(4)
            let hasOrderHint = reader.bit()
            if hasOrderHint { reader.skip(2) }
            let mayHaveScreenTools = reader.bit() || reader.bit()
            if mayHaveScreenTools, !reader.bit() { reader.skip(1) }
            if hasOrderHint { reader.skip(3) }
        }
        reader.skip(3)
    }

    /// Section 5.5.2.
    private mutating func readColor(_ reader: inout BitReader) {
        hasHighDepth = reader.bit()
        if profile == 2, hasHighDepth { hasTwelveBits = reader.bit() }
        if profile != 1 { isMonochrome = reader.bit() }
        let description = reader.bit() ? [reader.bits(8), reader.bits(8), reader.bits(8)] : nil
        if isMonochrome { return reader.skip(1) }
        if description == [1, 13, 0] {
            (isHalfWidth, isHalfHeight) = (false, false)
            return
        }
        reader.skip(1)
        switch profile {
        case 0: break
        case 1: (isHalfWidth, isHalfHeight) = (false, false)
        default:
            isHalfWidth = hasTwelveBits ? reader.bit() : true
            isHalfHeight = hasTwelveBits && isHalfWidth ? reader.bit() : false
        }
        if isHalfWidth, isHalfHeight { samplePosition = reader.bits(2) }
    }
}
