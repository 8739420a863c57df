import MediaCore

/// Collects what the elements before the first cluster say.
struct HeaderReader {
    let segmentStart: Int
    private var tracks: [RecordedHeader.Track]?
    private var tracksPosition = 0
    private var infoPosition: Int?
    private var title: String?
    private var duration: Double?
    private var durationOffset: Int?
    private var created: Int64?
    private var seekHead: Range<Int>?
    private var cues: Int?
    private var cueIndex: Int?
    private var scale: UInt64 = 1_000_000

    private static let trackLimit = 126
    private static let longestRecord = 1 << 20

    init(segmentStart: Int) { self.segmentStart = segmentStart }

    /// Nil if Info or Tracks are missing.
    var header: RecordedHeader? {
        guard let tracks, !tracks.isEmpty, let infoPosition, scale == 1_000_000 else { return nil }
        return RecordedHeader(
            tracks: tracks, title: title, duration: duration, durationOffset: durationOffset, created: created,
            seekHead: seekHead, places: .init(info: infoPosition, tracks: tracksPosition, cues: cueIndex), cues: cues)
    }

    mutating func take(_ element: Element, _ content: [UInt8]) {
        switch element.id {
        case .seekHead where element.start == segmentStart:
            seekHead = element.start..<element.end
            cues = Self.position(of: .cues, in: content)
        case .void where seekHead?.upperBound == element.start: seekHead = segmentStart..<element.end
        case .info:
            infoPosition = element.start - segmentStart
            readInfo(content, at: element.content.lowerBound)
        case .tracks:
            tracksPosition = element.start - segmentStart
            tracks = ElementSequence(content[...]).lazy.filter { $0.id == .trackEntry }.prefix(Self.trackLimit)
                .compactMap { Self.track($0.content) }
        case .cues where element.end - element.start == CueIndex.byteCount: cueIndex = element.start - segmentStart
        default: break
        }
    }

    private mutating func readInfo(_ content: [UInt8], at offset: Int) {
        for element in ElementSequence(content[...]) {
            switch element.id {
            case .timestampScale: scale = element.content.unsigned ?? 0
            case .duration:
                duration = element.content.float.flatMap { $0.isFinite && $0 >= 0 && $0 < 1e13 ? $0 : nil }
                if element.content.count == 8 { durationOffset = offset + element.content.startIndex }
            case .title:
                title = UntrustedText.clean(
                    String(decoding: element.content.prefix(1_024), as: UTF8.self), fallback: "")
            case .dateUTC: created = element.content.unsigned.map { Int64(bitPattern: $0) }
            default: break
            }
        }
    }

    private static func position(of id: ElementID, in seekHead: [UInt8]) -> Int? {
        for seek in ElementSequence(seekHead[...]) where seek.id == .seek {
            var found: UInt64?
            var position: UInt64?
            for element in ElementSequence(seek.content) {
                switch element.id {
                case .seekID: found = element.content.unsigned
                case .seekPosition: position = element.content.unsigned
                default: break
                }
            }
            if found == UInt64(id.rawValue) { return position.flatMap { Int(exactly: $0) } }
        }
        return nil
    }

    private static func track(_ entry: ArraySlice<UInt8>) -> RecordedHeader.Track? {
        var number: UInt64?
        var type: UInt64?
        var codec = ""
        var record: [UInt8] = []
        var name: String?
        var size: PixelSize?
        for element in ElementSequence(entry) {
            switch element.id {
            case .trackNumber: number = element.content.unsigned
            case .trackType: type = element.content.unsigned
            case .codecID: codec = String(decoding: element.content.prefix(64), as: UTF8.self)
            case .codecPrivate where type == 1: record = Array(element.content.prefix(Self.longestRecord))
            case .name:
                name = UntrustedText.clean(String(decoding: element.content.prefix(256), as: UTF8.self), fallback: "")
            case .video: size = pixels(element.content)
            default: break
            }
        }
        guard let number, (1...126).contains(number), let type, type == 1 || type == 2 else { return nil }
        return RecordedHeader.Track(
            number: UInt8(number), isVideo: type == 1, codec: codec, name: name, size: size, record: record)
    }

    private static func pixels(_ video: ArraySlice<UInt8>) -> PixelSize? {
        var width: Int?
        var height: Int?
        for element in ElementSequence(video) {
            let value = element.content.unsigned.flatMap { $0 <= 65_535 ? Int($0) : nil }
            if element.id == .pixelWidth { width = value }
            if element.id == .pixelHeight { height = value }
        }
        guard let width, let height else { return nil }
        return PixelSize(width: width, height: height)
    }
}
