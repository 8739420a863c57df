import Matroska
import MediaCore
import VideoBitstream
import WebMContainer

/// A recording whose frames and packets can be copied.
struct EditableRecording {
    let name: String
    let title: String?
    let video: RecordedVideo?
    let audio: [RecordedAudioTrack]
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
        let track = file.header.tracks.first { $0.isVideo && Self.codec(of: $0) != nil && !$0.isEncoded }
        video = track.flatMap { track in
            Self.codec(of: track).map {
                RecordedVideo(
                    $0, size: track.size ?? PixelSize(width: 640, height: 360), record: track.record,
                    appearance: track.appearance)
            }
        }
        videoNumber = track?.number
        let audio = file.header.tracks.filter { !$0.isVideo }
        self.audio = audio.map { RecordedAudioTrack(name: $0.name, head: $0.record, channels: $0.channels ?? 2) }
        audioNumbers = audio.map(\.number)
    }

    /// The reason why a file with this header cannot be cut and joined, as a phrase; nil if it can.
    static func obstacle(_ header: RecordedHeader) -> String? {
        if header.otherTracks > 0 { return "a track that is neither video nor audio" }
        if header.tracks.contains(where: \.isEncoded) { return "a track that is compressed or encrypted once more" }
        if header.tracks.contains(where: \.hasAlpha) { return "video with transparency" }
        if header.tracks.count(where: \.isVideo) > 1 { return "several video tracks" }
        for track in header.tracks {
            let codec = UntrustedText.clean(track.codec, fallback: "an unknown codec")
            guard track.isVideo else {
                guard track.codec == "A_OPUS" else { return "audio in \(codec)" }
                if track.record.count < 19, track.channels != 2 { return "Opus audio without its header" }
                continue
            }
            guard let known = Self.codec(of: track) else { return "video in \(codec)" }
            if let place = known.lengthSizePlace, track.record.count <= place || track.record[place] & 3 != 3 {
                return "\(known.rawValue) video whose units have lengths of another size than 4 bytes"
            }
        }
        return nil
    }

    private static func codec(of track: RecordedHeader.Track) -> VideoCodec? {
        VideoCodec.allCases.first { $0.properties.matroskaID == track.codec }
    }

    private static func refusal(_ name: String, _ what: String) -> RecordingFailure {
        RecordingFailure(
            "\(name) has \(what), which cannot be copied", remedy: "Export it: share recordings export.")
    }

    /// The places for a cut.
    /// - Throws: if a part of the file cannot be read, and would be missing in a copy.
    func checkedPlaces(at instant: Int64) throws(RecordingFailure) -> Places {
        if let obstacle = Self.obstacle(file.header) { throw Self.refusal(name, obstacle) }
        let places = places(at: instant)
        if places.hasForeignBlocks { throw Self.refusal(name, "blocks of another kind") }
        guard places.blocks > 0 else { throw Self.refusal(name, "no block that can be read") }
        guard videoNumber == nil || places.hasKeyframe else { throw Self.refusal(name, "no key frame") }
        return places
    }

    /// Places in the recording for a cut at an instant, in milliseconds.
    struct Places {
        /// The last key frame up to the instant, or the first one of all.
        var keyframe: Int64 = 0
        var firstKeyframe: Int64 = 0
        /// The frame that is shown at the instant.
        var shown: Int64 = 0
        /// Of the video and of the audio tracks, before the first key frame too.
        var firstBlock: Int64 = 0
        var lastBlock: Int64 = 0
        var end: Int64 = 0
        var hasKeyframe = false
        var blocks = 0
        /// Blocks, or a whole cluster, that cannot be read.
        var hasForeignBlocks = false
    }

    func places(at instant: Int64) -> Places {
        var places = Places()
        var keyframe: Int64?
        file.forEachPiece { piece in
            guard case .cluster(let element) = piece, let cluster = file.cluster(element) else {
                places.hasForeignBlocks = places.hasForeignBlocks || isWholeCluster(piece)
                return true
            }
            places.hasForeignBlocks = places.hasForeignBlocks || cluster.foreignBlocks > 0
            for block in cluster.blocks {
                places.firstBlock = places.blocks == 0 ? block.time : min(places.firstBlock, block.time)
                places.blocks += 1
                places.end = max(places.end, block.time)
                guard block.track == videoNumber else { continue }
                if block.isKeyframe {
                    if keyframe == nil { places.firstKeyframe = block.time }
                    if keyframe == nil || block.time <= instant { keyframe = block.time }
                }
                if block.time <= instant { places.shown = max(places.shown, block.time) }
            }
            return true
        }
        places.firstBlock = min(places.firstBlock, keyframe == nil ? .max : places.firstKeyframe)
        places.hasKeyframe = keyframe != nil
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
        var progress = CopyProgress()
        file.forEachPiece { piece in
            guard case .cluster(let element) = piece, let cluster = file.cluster(element) else { return true }
            for block in cluster.blocks {
                // Times may be years apart, also within a cluster.
                do throws(RecordingFileFailure) {
                    try writer.fill(upTo: min(block.time, cut.to) + cut.offset - Self.lag)
                } catch {
                    failure = error
                    return false
                }
                // Frames that are shown before it may refer to it.
                if block.track == videoNumber, block.time >= cut.to { progress.hasEnded = progress.hasBegun }
                guard block.time < cut.to else { continue }
                block.payload.withUnsafeBytes { copy(block, $0, cut, &progress, &writer) }
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

    /// The progress of copying video: frames come in decoding order, which may not be that of their times.
    private struct CopyProgress {
        var hasBegun = false
        var hasEnded = false
    }

    private func copy(
        _ block: RecordedBlock, _ bytes: UnsafeRawBufferPointer, _ cut: RecordingCut, _ progress: inout CopyProgress,
        _ writer: inout ExcerptWriter
    ) {
        if block.track == videoNumber {
            // Frames before the key frame may follow it, and refer to frames that are not copied.
            guard block.time >= cut.keyframe, progress.hasBegun || block.isKeyframe, !progress.hasEnded else { return }
            progress.hasBegun = true
            if block.time == cut.keyframe, block.isKeyframe, !cut.prefix.isEmpty {
                return (cut.prefix + bytes).withUnsafeBytes {
                    writer.addFrame($0, time: block.time + cut.offset, isKeyframe: true, isHidden: false)
                }
            }
            writer.addFrame(
                bytes, time: max(block.time, cut.from) + cut.offset, isKeyframe: block.isKeyframe,
                isHidden: block.time < cut.shown)
            return
        }
        if let track = audioNumbers.firstIndex(of: block.track), block.time >= cut.from {
            writer.addPacket(bytes, track: track, time: block.time + cut.offset)
        }
    }

    /// A cluster that has all its bytes, and still cannot be read.
    private func isWholeCluster(_ piece: MatroskaFile<RecordedFileSource>.Piece) -> Bool {
        guard case .damage(let range) = piece else { return false }
        return file.element(at: range.lowerBound)?.id == .cluster
    }

    /// - Parameter body: returns false to end.
    func forEachCluster(_ body: (RecordedCluster) -> Bool) {
        file.forEachPiece { piece in
            guard case .cluster(let element) = piece, let cluster = file.cluster(element) else { return true }
            return body(cluster)
        }
    }
}
