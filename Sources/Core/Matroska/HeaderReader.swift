import MediaCore

/// Collects what the elements before the first cluster say.
struct HeaderReader {
    let segmentStart: Int
    private var tracks: [RecordedHeader.Track]?
    private var tracksPosition = 0
    private var info: Info?
    private var seekHead: Range<Int>?
    private var cues: Int?
    private var cueIndex: Int?
    private var format = BlockFormat()
    /// Tracks that are neither video nor audio, and those whose number is above 126.
    private var otherTracks = 0
    /// Where Info and Tracks are, by the SeekHead, relative to the segment's start.
    private(set) var elsewhere: [ElementID: Int] = [:]

    /// The content of the Info element.
    private struct Info {
        /// Relative to the segment's start.
        var position: Int
        var title: String?
        var duration: Double?
        var durationOffset: Int?
        var created: Int64?
    }

    private static let trackLimit = 126
    private static let longestRecord = 1 << 20
    private static let longestAppearance = 1 << 14

    init(segmentStart: Int) { self.segmentStart = segmentStart }

    /// Nil if Info or Tracks are missing.
    var header: RecordedHeader? {
        guard let tracks, !tracks.isEmpty, let info else { return nil }
        var format = format
        for track in tracks {
            if track.codec == "A_OPUS" { format.opusTracks.insert(track.number) }
            format.durations[track.number] = track.frameDuration
        }
        let scale = Double(format.timestampScale) / 1e6
        let possible = 0...Double(RecordedCluster.latest)
        return RecordedHeader(
            tracks: tracks, otherTracks: otherTracks, format: format, title: info.title,
            duration: info.duration.flatMap { possible.contains($0 * scale) ? $0 * scale : nil },
            durationOffset: format.timestampScale == 1_000_000 ? info.durationOffset : nil, created: info.created,
            seekHead: seekHead, places: .init(info: info.position, tracks: tracksPosition, cues: cueIndex), cues: cues)
    }

    var hasInfo: Bool { info != nil }
    var hasTracks: Bool { tracks != nil }

    mutating func take(_ element: Element, _ content: [UInt8]) {
        switch element.id {
        case .seekHead where element.start == segmentStart:
            seekHead = element.start..<element.end
            cues = Self.position(of: .cues, in: content)
            for id in [ElementID.info, .tracks] { elsewhere[id] = Self.position(of: id, in: content) }
        case .void where seekHead?.upperBound == element.start: seekHead = segmentStart..<element.end
        case .info:
            var found = info ?? Info(position: 0)
            found.position = element.start - segmentStart
            read(content, at: element.content.lowerBound, into: &found)
            info = found
        case .tracks:
            tracksPosition = element.start - segmentStart
            readTracks(content)
        case .cues where element.end - element.start == CueIndex.byteCount: cueIndex = element.start - segmentStart
        default: break
        }
    }

    private mutating func read(_ content: [UInt8], at offset: Int, into info: inout Info) {
        for element in ElementSequence(content[...]) {
            switch element.id {
            case .timestampScale:
                // A unit is a second at most.
                let possible: ClosedRange<UInt64> = 1...1_000_000_000
                format.timestampScale =
                    element.content.unsigned.flatMap { possible.contains($0) ? $0 : nil } ?? 1_000_000
            case .duration:
                info.duration = element.content.float
                if element.content.count == 8 { info.durationOffset = offset + element.content.startIndex }
            case .title:
                info.title = UntrustedText.clean(
                    String(decoding: element.content.prefix(1_024), as: UTF8.self), fallback: "")
            case .dateUTC: info.created = element.content.unsigned.map { Int64(bitPattern: $0) }
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

    private mutating func readTracks(_ content: [UInt8]) {
        var found: [RecordedHeader.Track] = []
        otherTracks = 0
        for element in ElementSequence(content[...]) where element.id == .trackEntry {
            if found.count < Self.trackLimit, let track = Self.track(element.content) {
                found.append(track)
            } else {
                otherTracks += 1
            }
        }
        tracks = found
    }

    private static func track(_ entry: ArraySlice<UInt8>) -> RecordedHeader.Track? {
        var number: UInt64?
        var type: UInt64?
        var codec = ""
        var record: [UInt8] = []
        var name: String?
        var size: PixelSize?
        var channels: Int?
        var frameDuration: Int64?
        var isEncoded = false
        var appearance: (elements: [UInt8], hasAlpha: Bool) = ([], false)
        for element in ElementSequence(entry) {
            switch element.id {
            case .trackNumber: number = element.content.unsigned
            case .trackType: type = element.content.unsigned
            case .codecID: codec = String(decoding: element.content.prefix(64), as: UTF8.self)
            case .codecPrivate: record = Array(element.content.prefix(Self.longestRecord))
            case .name:
                name = UntrustedText.clean(String(decoding: element.content.prefix(256), as: UTF8.self), fallback: "")
            case .video:
                size = pixels(element.content)
                appearance = Self.appearance(element.content)
            case .audio: channels = Self.channels(element.content)
            case .defaultDuration: frameDuration = element.content.unsigned.flatMap { $0 < 1 << 40 ? Int64($0) : nil }
            case .contentEncodings: isEncoded = true
            default: break
            }
        }
        guard let number, (1...126).contains(number), let type, type == 1 || type == 2 else { return nil }
        return RecordedHeader.Track(
            number: UInt8(number), isVideo: type == 1, codec: codec, name: name, size: size, record: record,
            channels: type == 2 ? channels ?? 1 : nil, frameDuration: frameDuration,
            appearance: appearance.elements, hasAlpha: appearance.hasAlpha, isEncoded: isEncoded)
    }

    /// All of a Video element but the size.
    private static func appearance(_ video: ArraySlice<UInt8>) -> (elements: [UInt8], hasAlpha: Bool) {
        var elements: [UInt8] = []
        var hasAlpha = false
        for element in ElementSequence(video) where elements.count < Self.longestAppearance {
            switch element.id {
            case .pixelWidth, .pixelHeight, .void: break
            case .alphaMode: hasAlpha = hasAlpha || element.content.unsigned != 0
            default: elements += video[element.start..<element.content.endIndex]
            }
        }
        return (elements.count <= Self.longestAppearance ? elements : [], hasAlpha)
    }

    private static func channels(_ audio: ArraySlice<UInt8>) -> Int? {
        ElementSequence(audio).first { $0.id == .channels }.flatMap { element in
            element.content.unsigned.flatMap { (1...255).contains($0) ? Int($0) : nil }
        }
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
