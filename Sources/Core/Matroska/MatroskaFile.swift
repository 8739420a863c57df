public import MediaCore

/// A file, as far as it can be read. Reads any WebM or Matroska file with blocks as this program writes them, also one
/// whose end is missing.
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
        // A size has 56 bits at most.
        segmentEnd = size.size.map { start + $0 }
        var reader = HeaderReader(segmentStart: segmentStart)
        var position = segmentStart
        while let element = Self.element(source, at: position), element.id != .cluster,
            reader.header == nil || Self.topLevel.contains(element.id)
        {
            guard element.content.count <= Self.largestHeaderElement, position < Self.largestHeaderElement else {
                break
            }
            reader.take(element, source.bytes(at: element.content.lowerBound, count: element.content.count))
            position = element.end
        }
        bodyStart = position
        guard let header = reader.header else { throw .noHeader }
        self.header = header
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
        return bytes.count == element.content.count ? RecordedCluster(bytes) : nil
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
        /// The decoder configuration record of video; empty without one.
        public var record: [UInt8] = []
    }

    public var tracks: [Track]
    public var title: String?
    /// In milliseconds; nil if it is missing or no number of a file.
    public var duration: Double?
    /// Where the 8 bytes of the duration are; nil without such a field.
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
