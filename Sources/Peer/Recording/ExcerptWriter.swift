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
    /// Whether gaps of the audio track are filled with silence.
    private let isFilled: [Bool]
    /// Frames and packets that were added, without silence.
    private(set) var count = 0
    /// The latest time of a frame: its place among the others.
    private var latestFrame = Int64.min
    /// Silence that may still be filled in, in samples of all tracks: a day.
    private var silence = RecordedTracks.AudioProgress.longestGap

    /// More bytes and blocks do not wait for their order.
    private static let waitingBytes = 1 << 25
    private static let waitingBlocks = 20_000
    /// Silence that is made at once, in milliseconds.
    private static let gapStep: Int64 = 10_000

    init(
        to destination: RecordingDestination, video: RecordedVideo?, audio: [RecordedAudioTrack], title: String?
    ) throws(RecordingFileFailure) {
        file = try destination.create(1)
        let tracks = video.map { [$0.track] } ?? []
        do throws(RecordingFileFailure) {
            part = try RecordingPart(file, tracks: tracks + audio.map(\.track), title: title, origin: 0)
        } catch {
            file.discard()
            throw error
        }
        assembler = ClusterAssembler(videoTrack: video == nil ? nil : 1)
        self.audio = audio.map { _ in RecordedTracks.AudioProgress() }
        isFilled = audio.map(\.hasOneStream)
        hasVideo = video != nil
    }

    /// - Parameter isHidden: the VP8 frame is decoded, but not shown (RFC 6386 section 9.1, `show_frame`).
    mutating func addFrame(
        _ bytes: UnsafeRawBufferPointer, time: Int64, isKeyframe: Bool, isDiscardable: Bool = false, isHidden: Bool
    ) {
        count += 1
        latestFrame = max(latestFrame, time)
        guard isHidden, let first = bytes.first else {
            return assembler.append(
                track: 1, time: time, order: latestFrame, isKeyframe: isKeyframe, isDiscardable: isDiscardable, bytes)
        }
        var hidden = [UInt8](bytes)
        hidden[0] = first & ~0x10
        hidden.withUnsafeBytes {
            assembler.append(track: 1, time: time, order: latestFrame, isKeyframe: isKeyframe, $0)
        }
    }

    /// Adds a frame of a group, at another time.
    mutating func addFrame(_ frame: FrameGroup.Frame, time: Int64) {
        frame.bytes.withUnsafeBytes { addFrame($0, time: time, isKeyframe: frame.isKeyframe, isHidden: false) }
    }

    /// Adds a packet; the time since the one before is filled with silence. One that is too early is left out.
    mutating func addPacket(_ bytes: UnsafeRawBufferPointer, track: Int, time: Int64) {
        guard audio.indices.contains(track), let toc = bytes.first else { return }
        let number = UInt8(track + (hasVideo ? 2 : 1))
        fill(track, until: time)
        guard time >= audio[track].end ?? .min else { return }
        count += 1
        assembler.append(track: number, time: time, isKeyframe: true, bytes)
        audio[track].note(toc: toc, time: time, samples: OpusGap.samples(of: bytes))
    }

    /// Fills the time of each audio track with silence and writes it, a piece at a time. What is longer than a day
    /// remains a gap.
    mutating func fill(upTo time: Int64) throws(RecordingFileFailure) {
        let filled = audio.indices.filter { isFilled[$0] }
        while silence > 0, let end = filled.compactMap({ audio[$0].end }).min(), time - end > Self.gapStep {
            let next = end + Self.gapStep
            let before = silence
            for track in filled { fill(track, until: next) }
            // Less than a frame is left.
            if silence == before { silence = 0 }
            try write(upTo: next - Self.gapStep)
        }
    }

    private mutating func fill(_ track: Int, until time: Int64) {
        guard isFilled[track] else { return }
        while let gap = audio[track].nextGapPacket(until: time, longest: silence) {
            silence -= gap.samples
            gap.bytes.withUnsafeBytes {
                assembler.append(track: UInt8(track + (hasVideo ? 2 : 1)), time: gap.time, isKeyframe: true, $0)
            }
        }
    }

    /// Writes what comes before `time`; nothing that is earlier may follow. Writes all if too much waits.
    mutating func write(upTo limit: Int64) throws(RecordingFileFailure) {
        let isFull = assembler.byteCount > Self.waitingBytes || assembler.count > Self.waitingBlocks
        let time = isFull ? .max : limit
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
