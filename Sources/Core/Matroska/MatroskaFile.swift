public import MediaCore

/// A file, as far as it can be read: any WebM or Matroska file, also one whose end is missing, or whose clusters are of
/// unknown size.
public struct MatroskaFile<Source: ByteSource> {
    /// Why a file cannot be read.
    public enum Malformed: Error, Equatable, Sendable {
        case notMatroska
        /// Info or Tracks are missing or damaged.
        case noHeader
    }

    public let source: Source
    public let header: RecordedHeader
    /// Where the segment's content begins.
    public let segmentStart: Int
    /// Where the segment ends by its size field; nil while that is unknown.
    public let segmentEnd: Int?
    /// Where the first cluster may be.
    let bodyStart: Int
    /// The segment's size field has 8 bytes, right before `segmentStart`.
    let hasLongSize: Bool
    /// Info and Tracks are before `bodyStart`; else one was found by the SeekHead, behind damage or overlapping it.
    let hasWholeHeader: Bool

    /// So many elements may come before the first cluster.
    private static var mostHeaderElements: Int { 1_000 }
    /// Header elements and clusters that are larger count as damaged.
    static var largestHeaderElement: Int { 1 << 20 }
    static var largestCluster: Int { 1 << 26 }

    public init(_ source: Source) throws(Malformed) {
        self.source = source
        guard let ebml = Self.element(source, at: 0), ebml.id == .ebml, ebml.content.count <= 4_096,
            let size = ElementHeader(source.bytes(at: ebml.end, count: ElementHeader.longest)), size.id == .segment
        else { throw .notMatroska }
        let start = ebml.end + size.length
        segmentStart = start
        hasLongSize = size.length == ElementHeader.longest
        // A size has 56 bits at most.
        segmentEnd = size.size.map { start + $0 }
        var reader = HeaderReader(segmentStart: segmentStart)
        var position = segmentStart
        var count = 0
        while count < Self.mostHeaderElements, let element = Self.element(source, at: position),
            element.id != .cluster, reader.header == nil || Self.topLevel.contains(element.id)
        {
            Self.read(element, of: source, into: &reader)
            position = element.end
            count += 1
        }
        bodyStart = position
        hasWholeHeader = reader.header != nil
        // Editors of tags move what has grown behind the clusters.
        for (id, place) in reader.elsewhere where id == .info ? !reader.hasInfo : !reader.hasTracks {
            guard let element = Self.element(source, at: start &+ place), element.id == id else { continue }
            Self.read(element, of: source, into: &reader)
        }
        guard let header = reader.header else { throw .noHeader }
        self.header = header
    }

    /// Attachments, tags and whatever else is skipped may be of any size.
    private static func read(_ element: Element, of source: Source, into reader: inout HeaderReader) {
        guard element.id == .void || element.content.count <= largestHeaderElement else { return }
        let isRead = [ElementID.seekHead, .info, .tracks].contains(element.id)
        reader.take(
            element, isRead ? source.bytes(at: element.content.lowerBound, count: element.content.count) : [])
    }

    /// The element at a place; nil if there is no whole one of known size.
    static func element(_ source: Source, at start: Int) -> Element? {
        guard let header = ElementHeader(source.bytes(at: start, count: ElementHeader.longest)),
            let size = header.size
        else { return nil }
        let content = start + header.length
        guard size <= source.length - content else { return nil }
        return Element(id: header.id, start: start, content: content..<content + size)
    }

    public func element(at start: Int) -> Element? { Self.element(source, at: start) }

    /// The content of a cluster; nil if it is damaged.
    public func cluster(_ element: Element) -> RecordedCluster? {
        guard element.id == .cluster, element.content.count <= Self.largestCluster else { return nil }
        let bytes = source.bytes(at: element.content.lowerBound, count: element.content.count)
        return bytes.count == element.content.count ? RecordedCluster(bytes, header.format) : nil
    }
}

/// What Info and Tracks of a file say, and where it can be changed.
public struct RecordedHeader: Equatable, Sendable {
    /// A track of a file.
    public struct Track: Equatable, Sendable {
        public var number: UInt8
        public var isVideo: Bool
        public var codec: String
        /// Cleaned; nil if the track has none.
        public var name: String?
        /// Of the first frame, in pixels; nil for audio.
        public var size: PixelSize?
        /// `CodecPrivate`: the decoder configuration record of video, OpusHead of Opus; empty without one.
        public var record: [UInt8] = []
        /// Nil for video.
        public var channels: Int?
        /// In nanoseconds; nil if the header does not say it.
        public var frameDuration: Int64?
        /// What else the header says of how video is shown, as elements: its aspect, colours, projection.
        public var appearance: [UInt8] = []
        /// The blocks of the video have transparency beside them.
        public var hasAlpha = false
        /// The frames are compressed or encrypted once more.
        public var isEncoded = false
    }

    public var tracks: [Track]
    /// Tracks that are left out of `tracks`: subtitles and other kinds, and numbers above 126.
    public var otherTracks = 0
    public var format = BlockFormat()
    public var title: String?
    /// In milliseconds; nil if it is missing or no number of a file.
    public var duration: Double?
    /// Where the 8 bytes of the duration are; nil without such a field, or with another unit than milliseconds.
    public var durationOffset: Int?
    /// Nanoseconds from 2001-01-01T00:00:00 UTC.
    public var created: Int64?
    /// Where the SeekHead begins, and how long it is with the Void element behind it; nil if it is not at the start.
    var seekHead: Range<Int>?
    var places: MatroskaHeader.Places
    /// Where cues are, by the SeekHead, relative to the segment's start.
    public var cues: Int?

    public var videoTrack: UInt8? { tracks.first { $0.isVideo }?.number }
}
