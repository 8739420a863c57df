import MediaCore
import VideoBitstream

/// Takes from a frame what a decoder needs of it: slices and parameter sets. Parameter sets of pictures that are too
/// large are refused before libavcodec reads them. Other units (delimiters, most SEI, extensions) are left out.
struct NALUnitFilter {
    private let codec: VideoCodec
    /// The frame's units as a byte stream: a start code before each.
    var units: [UInt8] = []
    /// Decoding can begin with the frame: it has the parameter sets.
    private(set) var beginsStream = false

    /// The most units of a frame: a slice has at least one row of macroblocks in what encoders make.
    private static let mostUnits = 1_024

    init(_ codec: VideoCodec) { self.codec = codec }

    /// - Throws: if the frame has no slice, too many units, or a parameter set of a picture that is too large.
    mutating func take(_ frame: UnsafeRawBufferPointer) throws(CodecFailure) {
        guard (4...DecoderLimits.maximumBytes).contains(frame.count) else {
            throw Self.malformed(codec, "its length is \(frame.count)")
        }
        units.removeAll(keepingCapacity: true)
        var found = Found()
        NALUnits.forEach(in: frame) { unit in
            found.count += 1
            guard found.count <= Self.mostUnits, let kind = NALUnitKind(unit, codec) else { return }
            switch kind {
            case .slice: found.slices += 1
            case .sequenceParameterSet:
                found.parameterSets.insert(kind)
                guard let size = NALUnits.codedSize(ofSequenceParameterSet: unit, codec) else {
                    found.isMalformed = true
                    return
                }
                if found.largest.map({ $0.width * $0.height < size.width * size.height }) ?? true {
                    found.largest = size
                }
                found.isMalformed = found.isMalformed || (try? DecoderLimits.check(size)) == nil
            case .pictureParameterSet, .videoParameterSet: found.parameterSets.insert(kind)
            case .recoveryPoint: break
            }
            units += [0, 0, 0, 1]
            units.append(contentsOf: unit)
        }
        beginsStream = found.parameterSets.isSuperset(of: NALUnitKind.parameterSets(of: codec))
        if let largest = found.largest { try DecoderLimits.check(largest) }
        guard found.count <= Self.mostUnits else { throw Self.malformed(codec, "it has \(found.count) units") }
        guard !found.isMalformed else { throw Self.malformed(codec, "a parameter set is malformed") }
        guard found.slices > 0 || beginsStream else { throw Self.malformed(codec, "it has no slice") }
    }

    private struct Found {
        var count = 0
        var slices = 0
        var parameterSets: Set<NALUnitKind> = []
        var largest: PixelSize?
        var isMalformed = false
    }

    private static func malformed(_ codec: VideoCodec, _ why: String) -> CodecFailure {
        CodecFailure(code: -1, message: "not a frame of \(codec.rawValue): \(why)")
    }
}

/// The units that a decoder gets: ITU-T H.264 table 7-1, ITU-T H.265 table 7-1.
private enum NALUnitKind: Hashable {
    case slice, videoParameterSet, sequenceParameterSet, pictureParameterSet
    /// SEI that begins with a recovery point: without it a stream without IDR pictures has no start.
    case recoveryPoint

    /// Nil for what decoders do not need.
    init?(_ unit: UnsafeRawBufferPointer, _ codec: VideoCodec) {
        guard unit.count > 1, unit[0] & 0x80 == 0 else { return nil }
        if codec == .h264 { self.init(h264: unit) } else { self.init(h265: unit) }
    }

    private init?(h264 unit: UnsafeRawBufferPointer) {
        switch unit[0] & 0x1F {
        case 1, 5: self = .slice
        case 6 where unit[1] == 6: self = .recoveryPoint
        case 7: self = .sequenceParameterSet
        case 8: self = .pictureParameterSet
        default: return nil
        }
    }

    private init?(h265 unit: UnsafeRawBufferPointer) {
        // The base layer alone.
        guard unit[0] & 1 == 0, unit[1] >> 3 == 0 else { return nil }
        switch unit[0] >> 1 {
        case 0...9, 16...21: self = .slice
        case 32: self = .videoParameterSet
        case 33: self = .sequenceParameterSet
        case 34: self = .pictureParameterSet
        default: return nil
        }
    }

    static func parameterSets(of codec: VideoCodec) -> Set<NALUnitKind> {
        codec == .h264
            ? [.sequenceParameterSet, .pictureParameterSet]
            : [.videoParameterSet, .sequenceParameterSet, .pictureParameterSet]
    }
}
