/// What stands before the clusters of a file: EBML header, SeekHead, Info, Tracks and Cues.
///
/// While the file is written, the segment's size is unknown, and only the duration and the cues change (`CueIndex`).
/// Afterwards the segment's size is filled in. Nothing is ever moved.
public struct MatroskaHeader: Equatable, Sendable {
    /// The whole header, as a file begins.
    public let bytes: [UInt8]
    /// Where the segment's content begins: positions in the file are relative to it (RFC 9559 section 16).
    public let segmentStart: Int
    /// Where the 8 bytes of the duration are: milliseconds as a big-endian Double.
    public let durationOffset: Int
    /// Where the content of the Cues element is.
    public let cuesContent: Range<Int>
    private let places: Places
    /// Where in the file the entries of the tracks are, in their order.
    private let entries: [Range<Int>]

    /// Where the elements are, relative to the segment's start.
    struct Places: Equatable, Sendable {
        var info: Int
        var tracks: Int
        /// Nil without a Cues element in front of the clusters.
        var cues: Int?
    }

    /// The SeekHead and the Void element behind it take as many bytes.
    static let seekHeadBytes = 96

    /// - Parameters:
    ///   - title: the broadcast's name; nil for none.
    ///   - created: in nanoseconds from 2001-01-01T00:00:00 UTC (RFC 8794 section 7.6); nil if unknown.
    public init(tracks: [MatroskaTrack], title: String?, created: Int64?, application: String) {
        var writer = ElementWriter()
        writer.master(.ebml) { ebml in
            ebml.unsigned(.ebmlVersion, 1)
            ebml.unsigned(.ebmlReadVersion, 1)
            ebml.unsigned(.ebmlMaxIDLength, 4)
            ebml.unsigned(.ebmlMaxSizeLength, 8)
            ebml.text(.docType, tracks.allSatisfy(\.isWebM) ? "webm" : "matroska")
            ebml.unsigned(.docTypeVersion, 4)
            ebml.unsigned(.docTypeReadVersion, 2)
        }
        writer.startUnknown(.segment)
        segmentStart = writer.bytes.count
        let info = Self.seekHeadBytes
        let (infoBytes, durationPosition) = Self.info(title: title, created: created, application: application)
        durationOffset = segmentStart + info + durationPosition
        var trackWriter = ElementWriter()
        var entries: [Range<Int>] = []
        trackWriter.master(.tracks) { list in
            var kinds = Set<Bool>()
            for (index, track) in tracks.enumerated() {
                let isFirst = kinds.insert(track.isVideo).inserted
                let start = list.bytes.count
                track.write(to: &list, number: UInt64(index + 1), isDefault: isFirst)
                entries.append(start..<list.bytes.count)
            }
        }
        let cues = info + infoBytes.count + trackWriter.bytes.count
        places = Places(info: info, tracks: info + infoBytes.count, cues: cues)
        let first = segmentStart + places.tracks
        self.entries = entries.map { first + $0.lowerBound..<first + $0.upperBound }
        bytes = writer.bytes + Self.seekHead(places, cues: cues) + infoBytes + trackWriter.bytes + CueIndex.empty
        cuesContent = segmentStart + cues + CueIndex.headerBytes..<bytes.count
    }

    /// What to write over the entry of a track without blocks, so that players do not show it.
    /// - Parameter number: of the track, from 1 on.
    public func removal(ofTrack number: Int) -> MatroskaPatch? {
        guard entries.indices.contains(number - 1) else { return nil }
        var writer = ElementWriter()
        writer.void(total: entries[number - 1].count)
        return MatroskaPatch(offset: entries[number - 1].lowerBound, bytes: writer.bytes)
    }

    /// The 8 bytes at `durationOffset`.
    public static func duration(milliseconds: Int64) -> [UInt8] {
        let bits = Double(max(milliseconds, 1)).bitPattern.bigEndian
        return withUnsafeBytes(of: bits) { Array($0) }
    }

    /// What to write over the start of a complete file.
    /// - Parameters:
    ///   - cues: where another Cues element begins in the file, which replaces the one before the clusters; nil if that
    ///     one is complete.
    ///   - end: the length of the file.
    public func completion(cues: Int?, end: Int) -> [MatroskaPatch] {
        Self.completion(segmentStart: segmentStart, places, cues: cues, end: end)
    }

    static func completion(segmentStart: Int, _ places: Places, cues: Int?, end: Int) -> [MatroskaPatch] {
        let size = MatroskaPatch(
            offset: segmentStart - 8, bytes: ElementWriter.sizeField(UInt64(max(end - segmentStart, 0))))
        guard let cues else { return [size] }
        var patches = [
            MatroskaPatch(offset: segmentStart, bytes: seekHead(places, cues: cues - segmentStart)), size,
        ]
        if let former = places.cues {
            patches.append(MatroskaPatch(offset: segmentStart + former, bytes: CueIndex.void(CueIndex.byteCount)))
        }
        return patches
    }

    private static func seekHead(_ places: Places, cues: Int) -> [UInt8] {
        var writer = ElementWriter()
        writer.master(.seekHead) { head in
            for (id, position) in [(ElementID.info, places.info), (.tracks, places.tracks), (.cues, cues)] {
                head.master(.seek) { seek in
                    seek.binary(.seekID, (0..<id.length).reversed().map { UInt8(id.rawValue >> (8 * $0) & 0xFF) })
                    seek.unsigned(.seekPosition, UInt64(position))
                }
            }
        }
        writer.void(total: seekHeadBytes - writer.bytes.count)
        return writer.bytes
    }

    /// - Returns: the element, and where in it the duration's 8 bytes are.
    private static func info(title: String?, created: Int64?, application: String) -> (bytes: [UInt8], duration: Int) {
        var writer = ElementWriter()
        var duration = 0
        writer.master(.info) { info in
            info.unsigned(.timestampScale, 1_000_000)
            info.float(.duration, 1)
            duration = info.bytes.count - 8
            if let created { info.signed(.dateUTC, created) }
            if let title { info.text(.title, title) }
            info.text(.muxingApp, application)
            info.text(.writingApp, application)
        }
        return (writer.bytes, duration)
    }
}
