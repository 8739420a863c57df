import Matroska
import MediaCore
import WebMContainer

/// Writes encoded media that is there already into a new, complete file: a clip, a part of a recording, or several of
/// them joined. Times are those of the new file, in milliseconds.
struct ExcerptWriter {
    private let file: RecordingFile
    private var part: RecordingPart
    private var assembler: ClusterAssembler
    private var audio: [RecordedTracks.AudioProgress]
    private let hasVideo: Bool

    /// - Parameter audio: the names of the Opus tracks.
    init(
        to destination: RecordingDestination, video: RecordedVideo?, audio: [String?], title: String?
    ) throws(RecordingFileFailure) {
        file = try destination.create(1)
        let tracks = video.map { [$0.track] } ?? []
        do throws(RecordingFileFailure) {
            part = try RecordingPart(file, tracks: tracks + audio.map { .opus(name: $0) }, title: title, origin: 0)
        } catch {
            file.discard()
            throw error
        }
        assembler = ClusterAssembler(videoTrack: video == nil ? nil : 1)
        self.audio = audio.map { _ in RecordedTracks.AudioProgress() }
        hasVideo = video != nil
    }

    /// - Parameter isHidden: the VP8 frame is decoded, but not shown (RFC 6386 section 9.1, `show_frame`).
    mutating func addFrame(
        _ bytes: UnsafeRawBufferPointer, time: Int64, isKeyframe: Bool, isDiscardable: Bool = false, isHidden: Bool
    ) {
        guard isHidden, let first = bytes.first else {
            return assembler.append(
                track: 1, time: time, isKeyframe: isKeyframe, isDiscardable: isDiscardable, bytes)
        }
        var hidden = [UInt8](bytes)
        hidden[0] = first & ~0x10
        hidden.withUnsafeBytes { assembler.append(track: 1, time: time, isKeyframe: isKeyframe, $0) }
    }

    /// Adds a frame of a group, at another time.
    mutating func addFrame(_ frame: FrameGroup.Frame, time: Int64) {
        frame.bytes.withUnsafeBytes { addFrame($0, time: time, isKeyframe: frame.isKeyframe, isHidden: false) }
    }

    /// Adds a packet; the time since the one before is filled with silence. One that is too early is left out.
    mutating func addPacket(_ bytes: UnsafeRawBufferPointer, track: Int, time: Int64) {
        guard audio.indices.contains(track), let toc = bytes.first else { return }
        let number = UInt8(track + (hasVideo ? 2 : 1))
        for gap in audio[track].gap(until: time) {
            gap.bytes.withUnsafeBytes {
                assembler.append(track: number, time: gap.time, isKeyframe: true, $0)
            }
        }
        guard time >= audio[track].end ?? .min else { return }
        assembler.append(track: number, time: time, isKeyframe: true, bytes)
        audio[track].note(toc: toc, time: time, samples: OpusGap.samples(of: bytes))
    }

    /// Writes what comes before `time`; nothing that is earlier may follow.
    mutating func write(upTo time: Int64) throws(RecordingFileFailure) {
        var waiting = assembler
        assembler = ClusterAssembler(videoTrack: hasVideo ? 1 : nil)
        var failure: RecordingFileFailure?
        do throws(RecordingFileFailure) {
            try waiting.takeClusters(upTo: time) { cluster throws(RecordingFileFailure) in try part.append(cluster) }
        } catch {
            failure = error
        }
        assembler = waiting
        if let failure { throw failure }
    }

    /// Completes the file.
    /// - Parameter duration: its length; frames that come later make it longer.
    mutating func finish(duration: Int64) throws(RecordingFileFailure) -> RecordedFile {
        try write(upTo: .max)
        try part.sync(now: duration)
        try part.finish()
        return RecordedFile(path: part.path, duration: .milliseconds(Int(part.duration)), bytes: part.byteCount)
    }

    /// Gives the file up: what it was made of is still there.
    func discard() { file.discard() }
}
