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
        let places = try source.checkedPlaces(at: start.wholeMilliseconds)
        guard start.wholeMilliseconds < places.end else {
            throw RecordingFailure("\(source.name) lasts \(places.end / 1_000) s only")
        }
        let first = isExact ? max(start.wholeMilliseconds, places.firstKeyframe) : places.keyframe
        // Nothing is cut off at the beginning: audio before the first frame stays.
        let begin = start.wholeMilliseconds <= 0 ? min(first, places.firstBlock) : first
        let last = min(end?.wholeMilliseconds ?? places.end, places.end)
        guard begin < last else {
            throw RecordingFailure("there is nothing of \(source.name) in that part: it lasts \(places.end) ms")
        }
        var cut = RecordingCut(
            from: begin, to: last == places.end ? last + 1 : last, keyframe: places.keyframe,
            shown: isExact ? places.shown : first, offset: -begin)
        var head: FrameGroup?
        if isExact, let video = source.video, video.codec != .vp8, places.shown > places.keyframe {
            head = try encodedHead(of: source, video, places, &cut, encoder)
        }
        return try write(destination, source.video, source.audio, source.title) { writer throws(RecordingFileFailure) in
            for frame in head?.frames ?? [] { writer.addFrame(frame, time: max(frame.time, first) - begin) }
            try source.copy(cut, to: &writer)
            guard writer.count > 0 else {
                throw RecordingFileFailure(.notReadable, "there is nothing of \(source.name) in that part")
            }
            return last - begin
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
        var isWhole = true
        source.forEachFrame { block in
            guard block.time < cut.to else { return false }
            if block.isKeyframe, block.time > places.shown {
                next = block.time
                return false
            }
            guard block.time >= places.keyframe else { return true }
            isWhole = group.append(FrameGroup.Frame(block))
            return isWhole
        }
        guard isWhole else {
            throw RecordingFailure(
                "there is no key frame near that instant of \(source.name)", remedy: "Begin the part with a key frame.")
        }
        var head = try encoder.encode(group, places.shown)
        guard head.video.codec == video.codec, head.frames.first?.isKeyframe == true else {
            throw RecordingFailure("the beginning of the part could not be encoded")
        }
        head.shift(by: places.keyframe)
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
        where other.video != first.video || other.audio.count != first.audio.count
            || !zip(other.audio, first.audio).allSatisfy({ $0.continues($1) })
        {
            throw RecordingFailure(
                "\(other.name) has another codec, size, or number of audio tracks or channels than \(first.name)",
                remedy: "Only recordings of the same kind can be joined without encoding them again.")
        }
        // Nothing is written if one of them cannot be copied.
        var all: [EditableRecording.Places] = []
        for source in sources { all.append(try source.checkedPlaces(at: 0)) }
        return try write(destination, first.video, first.audio, title ?? first.title) {
            writer throws(RecordingFileFailure) in
            var offset: Int64 = 0
            for (source, places) in zip(sources, all) {
                let cut = RecordingCut(
                    from: places.firstBlock, to: places.end + 1, keyframe: places.keyframe,
                    prefix: parameterSets(of: source.video), shown: places.keyframe, offset: offset - places.firstBlock)
                try source.copy(cut, to: &writer)
                // The last frame is shown, too.
                offset += max(places.end, places.lastBlock + Self.shortestFrame) - places.firstBlock
                guard offset < Self.longest else {
                    throw RecordingFileFailure(.notReadable, "the recordings are longer than a file can be")
                }
            }
            return offset
        }
    }

    /// The time for which the last frame of a joined recording is shown, in milliseconds.
    private static let shortestFrame: Int64 = 33
    /// A hundred years, in milliseconds.
    private static let longest: Int64 = 3_153_600_000_000

    /// Creates a file, and completes it after `body`, which returns its length. After an error there is none.
    static func write(
        _ destination: RecordingDestination, _ video: RecordedVideo?, _ audio: [RecordedAudioTrack],
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

extension MediaDuration {
    var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
}
