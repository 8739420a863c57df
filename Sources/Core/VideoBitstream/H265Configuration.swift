import MediaCore

extension DecoderConfiguration {
    /// Of the parameter sets in front of the picture.
    init?(h265 frame: UnsafeRawBufferPointer) {
        // Video, sequence and picture parameter sets, by type.
        var sets: [UInt8: [[UInt8]]] = [:]
        NALUnits.forEach(in: frame) { unit in
            guard unit.count <= 65_535, let type = unit.first.map({ $0 >> 1 & 0x3F }), (32...34).contains(type),
                sets[type, default: []].count < 64
            else { return }
            sets[type, default: []].append(Array(unit))
        }
        guard sets.count == 3, let first = sets[33]?.first, let parsed = H265SequenceParameterSet(first) else {
            return nil
        }
        var record: [UInt8] = [1] + parsed.profileTierLevel + [0xF0, 0, 0xFC]
        record += [0xFC | UInt8(parsed.chroma), 0xF8 | UInt8(parsed.lumaDepth), 0xF8 | UInt8(parsed.chromaDepth)]
        record += [0, 0, UInt8(parsed.temporalLayers) << 3 | (parsed.hasNesting ? 4 : 0) | 3, 3]
        for type: UInt8 in [32, 33, 34] {
            let units = sets[type] ?? []
            record += [0x80 | type, 0, UInt8(units.count)]
            for unit in units { record += unit.withLength }
        }
        self.init(width: parsed.width, height: parsed.height, record: record)
    }
}

/// ITU-T H.265 section 7.3.2.2.
struct H265SequenceParameterSet {
    /// The 12 bytes of section 7.3.3 up to the level.
    var profileTierLevel: [UInt8]
    /// 1...7.
    var temporalLayers: Int
    var hasNesting: Bool
    /// `chroma_format_idc`, 0...3.
    var chroma: Int
    /// Bits over 8, 0...7.
    var lumaDepth: Int
    var chromaDepth: Int
    var width: Int
    var height: Int
    /// Before cropping: what a decoder has memory for.
    let codedSize: PixelSize

    /// - Parameter unit: the NAL unit with its header.
    init?(_ unit: [UInt8]) {
        guard unit.count >= 15 else { return nil }
        let bytes = NALUnits.withoutEmulationPrevention(Array(unit.dropFirst(2)))
        guard bytes.count >= 13 else { return nil }
        profileTierLevel = Array(bytes[1..<13])
        var reader = BitReader(bytes)
        reader.skip(4)
        let sublayers = reader.bits(3)
        temporalLayers = min(sublayers + 1, 7)
        hasNesting = reader.bit()
        reader.skip(96)
        if sublayers > 0 {
            let present = (0..<8).map { _ in (profile: reader.bit(), level: reader.bit()) }
            for sublayer in present.prefix(sublayers) {
                reader.skip((sublayer.profile ? 88 : 0) + (sublayer.level ? 8 : 0))
            }
        }
        _ = reader.exponentialGolomb()
        chroma = reader.exponentialGolomb()
        if chroma == 3 { reader.skip(1) }
        width = min(reader.exponentialGolomb(), 65_536)
        height = min(reader.exponentialGolomb(), 65_536)
        codedSize = PixelSize(width: width, height: height)
        if reader.bit() {
            let crop = (0..<4).map { _ in min(reader.exponentialGolomb(), 65_535) }
            width -= (crop[0] + crop[1]) * (chroma == 1 || chroma == 2 ? 2 : 1)
            height -= (crop[2] + crop[3]) * (chroma == 1 ? 2 : 1)
        }
        lumaDepth = reader.exponentialGolomb()
        chromaDepth = reader.exponentialGolomb()
        guard !reader.hasOverrun, chroma <= 3, lumaDepth <= 7, chromaDepth <= 7 else { return nil }
    }
}
