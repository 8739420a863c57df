import Matroska
import MediaCore
import WebMContainer

/// Writes a recording: takes what the queue has, and makes files of it.
///
/// - Isolation: disk thread.
struct RecordingWriter {
    private let emit: @Sendable (RecordingEvent) -> Void
    private var parts: RecordingParts
    private var timeline = RecordingTimeline()
    private var assembler: ClusterAssembler?
    private var tracks = RecordedTracks()
    /// Of the session; `tracks` are without video while none comes.
    private var format: EncodedMediaFormat?
    /// When the first audio packet came before any key frame.
    private var firstAudio: MediaInstant?
    private(set) var statistics = RecordingStatistics()
    private(set) var hasFailed = false
    private var framesSinceKeyframe = 0
    /// Half a minute at 60 frames a second.
    private static let longestGroup = 1_800
    /// The video from the last key frame on.
    private var video: RecordedVideo?
    /// Of the present file: it has one colour space.
    private var colors: ColorSpace?
    /// The newest frame has others.
    private var hasOtherColors = false
    /// For files that begin because the sender has changed codec, parameter sets or colours: 16, and one more in 10 s.
    private var changes: TokenBucket?
    /// Frames are left out until a key frame can be in the file.
    private var isHeld = false

    /// Blocks wait so long for others that belong before them.
    static let reordering: Int64 = 400
    /// With more bytes than this they wait no longer.
    private static let longestWait = 1 << 20
    /// After so long without a key frame the audio is recorded alone: a sender may have negotiated video and send none.
    private static let keyframePatience = MediaDuration.seconds(10)
    /// Silence is filled so long after its time, in case that packets still come.
    private static let silence: Int64 = 2_000

    init(
        destination: RecordingDestination, reserved: RecordingFile?, split: RecordingSplit?,
        title: @escaping @Sendable () -> String?, emit: @escaping @Sendable (RecordingEvent) -> Void
    ) {
        parts = RecordingParts(destination: destination, reserved: reserved, split: split, title: title)
        self.emit = emit
    }

    /// The next key frame begins a file, so one is wanted: the file is full, the colours have changed, or frames are
    /// left out because too many files were begun. So does a file whose last key frame is long ago: a player that seeks
    /// decodes all frames after it.
    var wantsKeyframe: Bool {
        video != nil && (parts.isFull || isHeld || framesSinceKeyframe >= Self.longestGroup || hasOtherColors)
    }

    /// When the first frame or packet of the recording arrived; nil before.
    var began: MediaInstant? { timeline.start }

    // MARK: Input

    mutating func take(_ batch: RecordingQueue.Batch) {
        guard !hasFailed else { return }
        batch.payloads.withUnsafeBytes { payloads in
            for item in batch.items {
                take(item, UnsafeRawBufferPointer(rebasing: payloads[item.payload]))
                if hasFailed { return }
            }
        }
    }

    private mutating func take(_ item: RecordedItem, _ payload: UnsafeRawBufferPointer) {
        switch item.kind {
        case .start(let format): start(format)
        case .video(let codec, let isKeyframe, let size, let isDiscardable, let colorSpace):
            if isKeyframe { startVideo(codec, payload, size, colorSpace, item.arrival) }
            hasOtherColors = colorSpace != colors
            framesSinceKeyframe = isKeyframe ? 0 : framesSinceKeyframe + 1
            guard assembler != nil, !isHeld, video?.codec == codec else { return }
            let time = timeline.videoTime(item.rtpTimestamp, arrival: item.arrival, captured: item.captured)
            RecordedVideo.withBlock(of: codec, payload) {
                assembler?.append(track: 1, time: time, isKeyframe: isKeyframe, isDiscardable: isDiscardable, $0)
            }
            statistics.frames += 1
        case .audio(let track, let samples): audio(item, track: track, samples: samples, payload)
        }
    }

    private mutating func start(_ format: EncodedMediaFormat) {
        timeline.restart()
        guard self.format != format else { return }
        self.format = format
        begin(format)
    }

    /// Other tracks need another file.
    private mutating func begin(_ format: EncodedMediaFormat) {
        endPart()
        tracks = RecordedTracks(format)
        assembler = format.video == nil ? ClusterAssembler(videoTrack: nil) : nil
        (video, firstAudio) = (nil, nil)
    }

    private mutating func startVideo(
        _ codec: VideoCodec, _ keyframe: UnsafeRawBufferPointer, _ size: PixelSize?, _ colorSpace: ColorSpace?,
        _ now: MediaInstant
    ) {
        guard let started = RecordedVideo(codec, keyframe: keyframe, size: size, colorSpace: colorSpace) else { return }
        if let format, format.video != nil, tracks.hasOnlyAudio { begin(format) }
        if let video, !started.continues(video) || started.appearance != video.appearance {
            guard takeChange(now) else {
                // Frames with other colours can be in the file, those of another codec cannot.
                isHeld = !started.continues(video)
                return
            }
            endPart()
        }
        isHeld = false
        (video, colors) = (started, colorSpace)
        if assembler == nil { assembler = ClusterAssembler(videoTrack: 1) }
    }

    /// Whether the sender may begin another file: one that changes with each key frame must not fill the folder.
    private mutating func takeChange(_ now: MediaInstant) -> Bool {
        var bucket = changes ?? TokenBucket(burst: 16, rate: 0.1, now: now)
        bucket.refill(now)
        let isAllowed = bucket.has()
        if isAllowed { bucket.take() }
        changes = bucket
        return isAllowed
    }

    private mutating func audio(
        _ item: RecordedItem, track: Int, samples: Int, _ payload: UnsafeRawBufferPointer
    ) {
        // A file begins with the first key frame, unless none comes.
        if assembler == nil, let format, format.video != nil {
            let first = firstAudio ?? item.arrival
            firstAudio = first
            if item.arrival - first >= Self.keyframePatience {
                begin(EncodedMediaFormat(video: nil, audio: format.audio))
            }
        }
        guard assembler != nil, track >= 0, track < tracks.audio.count, let toc = payload.first else { return }
        guard
            let time = timeline.audioTime(
                track: track, item.rtpTimestamp, arrival: item.arrival, captured: item.captured)
        else { return statistics.latePackets += 1 }
        fill(track, until: time)
        guard time >= tracks.audio[track].end ?? .min else { return statistics.latePackets += 1 }
        assembler?.append(track: tracks.number(ofAudio: track), time: time, isKeyframe: true, payload)
        tracks.audio[track].note(toc: toc, time: time, samples: samples)
        statistics.packets += 1
    }

    /// Fills the time without packets.
    /// - Parameter time: of the recording, in milliseconds.
    private mutating func fill(_ track: Int, until time: Int64) {
        while let packet = tracks.audio[track].nextGapPacket(until: time) {
            packet.bytes.withUnsafeBytes {
                assembler?.append(
                    track: tracks.number(ofAudio: track), time: packet.time, isKeyframe: true, $0)
            }
        }
    }

    // MARK: Output

    /// Writes what is due.
    mutating func flush(now: MediaInstant) {
        guard !hasFailed, assembler != nil else { return }
        let elapsed = timeline.elapsed(at: now)
        for track in tracks.audio.indices { fill(track, until: elapsed - Self.silence) }
        let isFull = (assembler?.byteCount ?? 0) > Self.longestWait
        write(upTo: isFull ? .max : elapsed - Self.reordering)
        statistics.duration = .milliseconds(Int(elapsed))
        statistics.bytes = parts.byteCount
    }

    /// Has what was written put on the disk.
    mutating func sync(now: MediaInstant) {
        guard !hasFailed else { return }
        let elapsed = timeline.elapsed(at: now)
        attempt { writer throws(RecordingFileFailure) in try writer.parts.sync(now: elapsed) }
    }

    /// Completes the last file.
    mutating func finish(now: MediaInstant) {
        guard !hasFailed else { return }
        flush(now: now)
        sync(now: now)
        endPart()
        parts.dropReserved()
    }

    private mutating func endPart() {
        write(upTo: .max)
        attempt { writer throws(RecordingFileFailure) in try writer.closePart() }
    }

    private mutating func write(upTo limit: Int64) {
        guard var waiting = assembler else { return }
        attempt { writer throws(RecordingFileFailure) in
            try waiting.takeClusters(upTo: limit) { cluster throws(RecordingFileFailure) in
                try writer.write(cluster)
            }
        }
        assembler = waiting
    }

    private mutating func write(_ cluster: Cluster) throws(RecordingFileFailure) {
        if !parts.isOpen || cluster.isEntry && parts.isFull {
            // Nothing can be shown before the first key frame.
            guard cluster.isEntry || tracks.hasOnlyAudio else { return }
            try closePart()
            emit(.started(path: try parts.open(tracks: tracks.matroska(video), at: cluster.time)))
        }
        try parts.append(cluster)
    }

    private mutating func closePart() throws(RecordingFileFailure) {
        let emit = emit
        try parts.close { emit(.finished($0)) }
    }

    // MARK: Failure

    private mutating func attempt(_ body: (inout Self) throws(RecordingFileFailure) -> Void) {
        guard !hasFailed else { return }
        do throws(RecordingFileFailure) {
            try body(&self)
        } catch {
            fail(error)
        }
    }

    private mutating func fail(_ failure: RecordingFileFailure) {
        hasFailed = true
        assembler = nil
        // Completes what was written, as far as the disk allows.
        try? closePart()
        parts.dropReserved()
        emit(.failed(RecordingFailure(failure)))
    }
}

extension RecordingFailure {
    /// The reason for people.
    init(_ failure: RecordingFileFailure) {
        let remedy =
            switch failure.code {
            case .exists: "Choose another name: files are never overwritten."
            case .inUse: "Another program writes it."
            case .noSpace: "Make room on the disk, or record to another one."
            case .noFolder: "Name a folder that exists."
            case .permission: "Name a folder that is yours."
            case .notReadable, .system: ""
            }
        self.init(failure.message, remedy: remedy)
    }
}
