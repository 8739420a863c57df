import MediaCore

extension DecoderConfiguration {
    /// Of the parameter sets in front of the picture.
    init?(h264 frame: UnsafeRawBufferPointer) {
        var sequenceSets: [[UInt8]] = []
        var pictureSets: [[UInt8]] = []
        NALUnits.forEach(in: frame) { unit in
            guard unit.count <= 65_535, let type = unit.first.map({ $0 & 0x1F }) else { return }
            if type == 7, sequenceSets.count < 31 { sequenceSets.append(Array(unit)) }
            if type == 8, pictureSets.count < 255 { pictureSets.append(Array(unit)) }
        }
        guard let first = sequenceSets.first, !pictureSets.isEmpty, let parsed = H264SequenceParameterSet(first) else {
            return nil
        }
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(sequenceSets.count)]
        for set in sequenceSets { record += set.withLength }
        record.append(UInt8(pictureSets.count))
        for set in pictureSets { record += set.withLength }
        if parsed.hasHighProfile {
            record += [
                0xFC | UInt8(parsed.chroma), 0xF8 | UInt8(parsed.lumaDepth), 0xF8 | UInt8(parsed.chromaDepth), 0,
            ]
        }
        self.init(width: parsed.width, height: parsed.height, record: record)
    }
}

extension [UInt8] {
    /// Behind its length in 2 bytes.
    var withLength: [UInt8] { [UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + self }
}

/// ITU-T H.264 section 7.3.2.1.1.
struct H264SequenceParameterSet {
    var hasHighProfile = false
    /// `chroma_format_idc`, 0...3.
    var chroma = 1
    /// Bits over 8, 0...6.
    var lumaDepth = 0
    var chromaDepth = 0
    var width = 0
    var height = 0
    /// Before cropping: what a decoder has memory for.
    private(set) var codedSize = PixelSize(width: 0, height: 0)

    private static let highProfiles: Set<Int> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    /// - Parameter unit: the NAL unit with its header.
    init?(_ unit: [UInt8]) {
        guard unit.count >= 5 else { return nil }
        var reader = BitReader(NALUnits.withoutEmulationPrevention(Array(unit.dropFirst())))
        let profile = reader.bits(8)
        reader.skip(16)
        _ = reader.exponentialGolomb()
        if Self.highProfiles.contains(profile) {
            hasHighProfile = true
            guard readChroma(&reader) else { return nil }
        }
        _ = reader.exponentialGolomb()
        switch reader.exponentialGolomb() {
        case 0: _ = reader.exponentialGolomb()
        case 1:
            reader.skip(1)
            _ = reader.exponentialGolomb()
            _ = reader.exponentialGolomb()
            let count = reader.exponentialGolomb()
            guard count <= 255 else { return nil }
            for _ in 0..<count { _ = reader.exponentialGolomb() }
        default: break
        }
        _ = reader.exponentialGolomb()
        reader.skip(1)
        readSize(&reader)
        guard !reader.hasOverrun else { return nil }
    }

    private mutating func readChroma(_ reader: inout BitReader) -> Bool {
        chroma = reader.exponentialGolomb()
        if chroma == 3 { reader.skip(1) }
        lumaDepth = reader.exponentialGolomb()
        chromaDepth = reader.exponentialGolomb()
        guard chroma <= 3, lumaDepth <= 6, chromaDepth <= 6 else { return false }
        reader.skip(1)
        guard reader.bit() else { return true }
        for list in 0..<(chroma == 3 ? 12 : 8) where reader.bit() {
            var last = 8
            var next = 8
            for _ in 0..<(list < 6 ? 16 : 64) {
                if next != 0 { next = (last + reader.signedExponentialGolomb() + 256) & 0xFF }
                if next != 0 { last = next }
            }
        }
        return true
    }

    private mutating func readSize(_ reader: inout BitReader) {
        let columns = min(reader.exponentialGolomb(), 65_535) + 1
        let rows = min(reader.exponentialGolomb(), 65_535) + 1
        let hasFramesOnly = reader.bit()
        if !hasFramesOnly { reader.skip(1) }
        reader.skip(1)
        width = columns * 16
        height = rows * 16 * (hasFramesOnly ? 1 : 2)
        codedSize = PixelSize(width: width, height: height)
        guard reader.bit() else { return }
        let crop = (0..<4).map { _ in min(reader.exponentialGolomb(), 65_535) }
        width -= (crop[0] + crop[1]) * (chroma == 1 || chroma == 2 ? 2 : 1)
        height -= (crop[2] + crop[3]) * (chroma == 1 ? 2 : 1) * (hasFramesOnly ? 1 : 2)
    }
}
