import MediaCore

/// The groups of pictures that a ``ClipBuffer`` keeps. A value: a copy shares the memory of the groups.
struct ClipRing {
    /// A key frame, the frames after it, and the audio meanwhile.
    struct Group {
        /// In pieces, as a piece that a clip shares is copied before the next frame is added to it.
        private(set) var pieces: [RecordingQueue.Batch] = []
        private(set) var byteCount = 0
        private(set) var frames = 0
        private(set) var began: MediaInstant

        private static let pieceBytes = 1 << 18

        init(at now: MediaInstant) { began = now }

        mutating func append(_ item: RecordedItem, _ write: (inout [UInt8]) -> Void) {
            var piece = pieces.popLast() ?? RecordingQueue.Batch()
            if piece.payloads.count >= Self.pieceBytes {
                pieces.append(piece)
                piece = RecordingQueue.Batch()
            }
            var item = item
            let start = piece.payloads.count
            write(&piece.payloads)
            item.payload = start..<piece.payloads.count
            byteCount += item.payload.count
            if case .video = item.kind { frames += 1 }
            piece.items.append(item)
            pieces.append(piece)
        }
    }

    let length: MediaDuration
    let byteLimit: Int
    private(set) var groups: [Group] = []
    private(set) var format: EncodedMediaFormat?
    /// Frames up to the next key frame cannot be kept.
    private var waitsForKeyframe = true
    private var lastRequest: MediaInstant?

    /// A group with more frames makes a clip that starts slowly, as all of them have to be decoded first.
    static let longestGroup = 1_800
    /// Audio alone is grouped by time.
    private static let audioGroup = MediaDuration.seconds(1)
    private static let requestInterval = MediaDuration.seconds(10)

    init(length: MediaDuration, byteLimit: Int) {
        self.length = length
        self.byteLimit = byteLimit
    }

    var byteCount: Int { groups.reduce(0) { $0 + $1.byteCount } }

    func available(at now: MediaInstant) -> MediaDuration {
        groups.first.map { min(now - $0.began, length) } ?? .zero
    }

    mutating func clear() {
        groups = []
        waitsForKeyframe = true
    }

    /// A session begins. Clips do not span sessions of different formats.
    mutating func start(_ format: EncodedMediaFormat, at now: MediaInstant) {
        if self.format != format { clear() }
        self.format = format
        waitsForKeyframe = true
        if var last = groups.popLast() {
            last.append(RecordedItem(kind: .start(format), arrival: now)) { _ in }
            groups.append(last)
        }
    }

    /// - Returns: true if a key frame is wanted.
    mutating func push(_ frame: EncodedVideoFrame, at now: MediaInstant) -> Bool {
        if frame.isKeyframe {
            groups.append(Group(at: now))
            waitsForKeyframe = false
        }
        guard !waitsForKeyframe, var group = groups.popLast() else { return false }
        let item = RecordedItem(
            kind: .video(
                frame.codec, isKeyframe: frame.isKeyframe, size: frame.size, isDiscardable: frame.isDiscardable,
                colorSpace: frame.colorSpace),
            arrival: now, rtpTimestamp: frame.rtpTimestamp, captured: frame.captured)
        group.append(item) { payloads in frame.bytes.forEachSegment { payloads.append(contentsOf: $0) } }
        let isLong = group.frames > Self.longestGroup || group.byteCount > byteLimit / 2
        groups.append(group)
        trim(at: now)
        guard isLong, lastRequest.map({ now - $0 >= Self.requestInterval }) ?? true else { return false }
        lastRequest = now
        return true
    }

    mutating func push(_ bytes: UnsafeRawBufferPointer, _ packet: EncodedAudioPacket, at now: MediaInstant) {
        if format?.video == nil {
            let isFull = groups.last.map { now - $0.began >= Self.audioGroup } ?? true
            if isFull { groups.append(Group(at: now)) }
        }
        guard var group = groups.popLast() else { return }
        let item = RecordedItem(
            kind: .audio(track: packet.track, samplesPerChannel: packet.samplesPerChannel), arrival: now,
            rtpTimestamp: packet.rtpTimestamp, captured: packet.captured)
        group.append(item) { $0.append(contentsOf: bytes) }
        groups.append(group)
        trim(at: now)
    }

    /// Drops the groups that no clip needs, and the oldest ones while there is too much.
    private mutating func trim(at now: MediaInstant) {
        while groups.count > 1, now - groups[1].began >= length { groups.removeFirst() }
        while groups.count > 1, byteCount > byteLimit { groups.removeFirst() }
        if byteCount > byteLimit { clear() }
    }
}
