import Matroska
public import MediaCore
import VideoBitstream
import WebMContainer

/// Makes new recordings of others without encoding anything again. Files with video of a ``VideoCodec``, or without
/// video, and with Opus audio can be edited. Blocks on the disk.
public enum RecordingEditor {
    /// Copies a part of a recording to a new file.
    ///
    /// A part begins with a key frame. An exact one begins with the wanted instant. In VP8 the frames from the key
    /// frame before it are copied, too, but are not shown. In other codecs the pictures up to the next key frame are
    /// encoded again.
    /// - Parameters:
    ///   - start: from the beginning of the recording.
    ///   - end: nil: its end.
    ///   - isExact: whether the part begins with `start`, and not with the last key frame before it.
    ///   - encoder: for exact parts of other codecs than VP8.
    public static func trim(
        _ path: String, from start: MediaDuration, to end: MediaDuration?, isExact: Bool,
        encoder: GroupEncoder? = nil, destination: RecordingDestination
    ) throws(RecordingFailure) -> RecordedFile {
        let source = try EditableRecording(path)
        let places = source.places(at: start.wholeMilliseconds)
        guard start.wholeMilliseconds < places.end else {
            throw RecordingFailure("\(source.name) lasts \(places.end / 1_000) s only")
        }
        let first = isExact ? max(start.wholeMilliseconds, places.firstKeyframe) : places.keyframe
        let last = min(end?.wholeMilliseconds ?? places.end, places.end)
        guard first < last else {
            throw RecordingFailure("there is nothing of \(source.name) in that part: it lasts \(places.end) ms")
        }
        var cut = RecordingCut(
            from: first, to: last == places.end ? last + 1 : last, keyframe: places.keyframe,
            shown: isExact ? places.shown : first, offset: -first)
        var head: FrameGroup?
        if isExact, let video = source.video, video.codec != .vp8, places.shown > places.keyframe {
            head = try encodedHead(of: source, video, places, &cut, encoder)
        }
        return try write(destination, source.video, source.audio, source.title) { writer throws(RecordingFileFailure) in
            for frame in head?.frames ?? [] { writer.addFrame(frame, time: max(frame.time, first) - first) }
            try source.copy(cut, to: &writer)
            return last - first
        }
    }

    /// Encodes the frames from the shown one up to the next key frame.
    /// - Parameter cut: goes on with that key frame afterwards.
    private static func encodedHead(
        of source: EditableRecording, _ video: RecordedVideo, _ places: EditableRecording.Places,
        _ cut: inout RecordingCut, _ encoder: GroupEncoder?
    ) throws(RecordingFailure) -> FrameGroup {
        guard let encoder else {
            throw RecordingFailure(
                "a part of \(video.codec.rawValue) video cannot begin between key frames",
                remedy: "Begin it with a key frame.")
        }
        var group = FrameGroup(video)
        var next = Int64.max
        source.forEachFrame { block in
            guard block.time < cut.to else { return false }
            if block.isKeyframe, block.time > places.shown {
                next = block.time
                return false
            }
            if block.time >= places.keyframe { group.frames.append(FrameGroup.Frame(block)) }
            return true
        }
        var head = try encoder.encode(group, places.shown)
        guard head.video.codec == video.codec, head.frames.first?.isKeyframe == true else {
            throw RecordingFailure("the beginning of the part could not be encoded")
        }
        for index in head.frames.indices { head.frames[index].time += places.keyframe }
        cut.keyframe = next
        cut.prefix = parameterSets(of: video)
        return head
    }

    /// Those of the file's header: frames before may have others.
    private static func parameterSets(of video: RecordedVideo?) -> [UInt8] {
        video.map { DecoderConfiguration.parameterSets(of: $0.record, $0.codec) } ?? []
    }

    /// Joins recordings, one behind the other, in a new file.
    /// - Throws: unless all have the same codec, the same size, and as many audio tracks.
    public static func join(
        _ paths: [String], title: String?, destination: RecordingDestination
    ) throws(RecordingFailure) -> RecordedFile {
        var sources: [EditableRecording] = []
        for path in paths { sources.append(try EditableRecording(path)) }
        guard let first = sources.first else { throw RecordingFailure("there is nothing to join") }
        for other in sources.dropFirst()
        where other.video != first.video || other.audio.count != first.audio.count {
            throw RecordingFailure(
                "\(other.name) has another codec, size or number of audio tracks than \(first.name)",
                remedy: "Only recordings of the same kind can be joined without encoding them again.")
        }
        return try write(destination, first.video, first.audio, title ?? first.title) {
            writer throws(RecordingFileFailure) in
            var offset: Int64 = 0
            for source in sources {
                let places = source.places(at: 0)
                let cut = RecordingCut(
                    from: places.keyframe, to: places.end + 1, keyframe: places.keyframe,
                    prefix: parameterSets(of: source.video), shown: places.keyframe, offset: offset - places.keyframe)
                try source.copy(cut, to: &writer)
                // The last frame is shown, too.
                offset += max(places.end, places.lastBlock + Self.shortestFrame) - places.keyframe
            }
            return offset
        }
    }

    /// How long the last frame of a joined recording is shown, in milliseconds.
    private static let shortestFrame: Int64 = 33

    /// Creates a file, and completes it after `body`, which returns its length. After an error there is none.
    static func write(
        _ destination: RecordingDestination, _ video: RecordedVideo?, _ audio: [String?],
        _ title: String?, _ body: (inout ExcerptWriter) throws(RecordingFileFailure) -> Int64
    ) throws(RecordingFailure) -> RecordedFile {
        do throws(RecordingFileFailure) {
            var writer = try ExcerptWriter(to: destination, video: video, audio: audio, title: title)
            do throws(RecordingFileFailure) {
                let duration = try body(&writer)
                return try writer.finish(duration: duration)
            } catch {
                writer.discard()
                throw error
            }
        } catch {
            throw RecordingFailure(error)
        }
    }
}

/// Which part of a recording is copied, in milliseconds of it.
struct RecordingCut {
    var from: Int64
    /// Exclusive.
    var to: Int64
    /// The key frame that is copied first.
    var keyframe: Int64
    /// Comes before the bytes of that frame.
    var prefix: [UInt8] = []
    /// Frames before it are hidden.
    var shown: Int64
    /// Of the new file's time.
    var offset: Int64
}

/// A recording whose frames and packets can be copied.
struct EditableRecording {
    let name: String
    let title: String?
    let video: RecordedVideo?
    /// The names of the audio tracks.
    let audio: [String?]
    private let file: MatroskaFile<RecordedFileSource>
    let videoNumber: UInt8?
    private let audioNumbers: [UInt8]

    init(_ path: String) throws(RecordingFailure) {
        do throws(RecordingFileFailure) {
            file = try StoredRecording.open(RecordedFileSource(path))
        } catch {
            throw RecordingFailure(error)
        }
        name = UntrustedText.clean(path, limit: 4_096, fallback: "the file")
        title = file.header.title
        var video: RecordedVideo?
        var videoNumber: UInt8?
        for track in file.header.tracks {
            let codec = VideoCodec.allCases.first { MatroskaTrack.codecID($0) == track.codec }
            guard track.isVideo ? codec != nil && video == nil : track.codec == "A_OPUS" else {
                throw RecordingFailure(
                    "\(name) has a track that cannot be copied", remedy: "Export it to another format.")
            }
            guard let codec else { continue }
            video = RecordedVideo(codec, size: track.size ?? PixelSize(width: 640, height: 360), record: track.record)
            videoNumber = track.number
        }
        self.video = video
        self.videoNumber = videoNumber
        let audio = file.header.tracks.filter { !$0.isVideo }
        self.audio = audio.map(\.name)
        audioNumbers = audio.map(\.number)
    }

    /// Places in the recording for a cut at an instant, in milliseconds.
    struct Places {
        /// The last key frame up to the instant, or the first one of all.
        var keyframe: Int64 = 0
        var firstKeyframe: Int64 = 0
        /// The frame that is shown at the instant.
        var shown: Int64 = 0
        var lastBlock: Int64 = 0
        var end: Int64 = 0
    }

    func places(at instant: Int64) -> Places {
        var places = Places()
        var keyframe: Int64?
        forEachBlock { block in
            places.end = max(places.end, block.time)
            guard block.track == videoNumber else { return }
            if block.isKeyframe {
                if keyframe == nil { places.firstKeyframe = block.time }
                if keyframe == nil || block.time <= instant { keyframe = block.time }
            }
            if block.time <= instant { places.shown = block.time }
        }
        places.lastBlock = places.end
        // A still picture lasts longer than its frame.
        places.end = max(places.end, Int64(file.header.duration ?? 0))
        places.keyframe = videoNumber == nil ? min(instant, places.end) : keyframe ?? 0
        places.shown = max(places.shown, places.keyframe)
        return places
    }

    func copy(_ cut: RecordingCut, to writer: inout ExcerptWriter) throws(RecordingFileFailure) {
        var latest = Int64.min
        var failure: RecordingFileFailure?
        file.forEachPiece { piece in
            guard case .cluster(let element) = piece, let cluster = file.cluster(element) else { return true }
            for block in cluster.blocks where block.time < cut.to {
                block.payload.withUnsafeBytes { copy(block, $0, cut, &writer) }
                latest = max(latest, block.time)
            }
            // Blocks of other tracks may be a second behind.
            do throws(RecordingFileFailure) {
                try writer.write(upTo: max(latest, 0) + cut.offset - Self.lag)
            } catch {
                failure = error
            }
            return failure == nil && (cluster.blocks.isEmpty || cluster.timestamp < cut.to + Self.lag)
        }
        if let failure { throw failure }
    }

    private static let lag: Int64 = 3_000

    private func copy(
        _ block: RecordedBlock, _ bytes: UnsafeRawBufferPointer, _ cut: RecordingCut, _ writer: inout ExcerptWriter
    ) {
        if block.track == videoNumber {
            guard block.time >= cut.keyframe else { return }
            if block.time == cut.keyframe, block.isKeyframe, !cut.prefix.isEmpty {
                return (cut.prefix + bytes).withUnsafeBytes {
                    writer.addFrame($0, time: block.time + cut.offset, isKeyframe: true, isHidden: false)
                }
            }
            writer.addFrame(
                bytes, time: max(block.time, cut.from) + cut.offset, isKeyframe: block.isKeyframe,
                isHidden: block.time < cut.shown)
        } else if let track = audioNumbers.firstIndex(of: block.track), block.time >= cut.from {
            writer.addPacket(bytes, track: track, time: block.time + cut.offset)
        }
    }

    private func forEachBlock(_ body: (RecordedBlock) -> Void) {
        forEachCluster { cluster in
            cluster.blocks.forEach(body)
            return true
        }
    }

    /// - Parameter body: returns false to end.
    func forEachCluster(_ body: (RecordedCluster) -> Bool) {
        file.forEachPiece { piece in
            guard case .cluster(let element) = piece, let cluster = file.cluster(element) else { return true }
            return body(cluster)
        }
    }
}

extension MediaDuration {
    var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}
