import Matroska
import MediaCore
import WebMContainer

/// The media of a clip: what a ``ClipRing`` has, with its times.
struct Clip {
    private struct Block {
        /// Nil for video.
        var audioTrack: Int?
        var isKeyframe = false
        var isDiscardable = false
        var colorSpace: ColorSpace?
        /// In milliseconds from the start of the ring.
        var time: Int64
        /// The index of the piece that has its payload.
        var piece: Int
        var payload: Range<Int>
    }

    private let pieces: [RecordingQueue.Batch]
    private var blocks: [Block] = []
    private var tracks: RecordedTracks
    private var video: RecordedVideo?
    /// In milliseconds from the start of the ring.
    private let start: Int64
    private let end: Int64

    /// - Parameter length: nil: all of it.
    init(_ ring: ClipRing, last length: MediaDuration?, at now: MediaInstant) throws(RecordingFailure) {
        pieces = ring.groups.flatMap(\.pieces)
        tracks = ring.format.map { RecordedTracks($0) } ?? RecordedTracks()
        var timeline = RecordingTimeline()
        for (number, piece) in pieces.enumerated() {
            for item in piece.items {
                switch item.kind {
                case .start: timeline.restart()
                case .video(let codec, let isKeyframe, let size, let isDiscardable, let colorSpace):
                    if video == nil, isKeyframe {
                        video = piece.payloads.withUnsafeBytes {
                            RecordedVideo(
                                codec, keyframe: UnsafeRawBufferPointer(rebasing: $0[item.payload]), size: size)
                        }
                    }
                    guard video?.codec == codec else { continue }
                    let time = timeline.videoTime(item.rtpTimestamp, arrival: item.arrival, captured: item.captured)
                    blocks.append(
                        Block(
                            isKeyframe: isKeyframe, isDiscardable: isDiscardable, colorSpace: colorSpace, time: time,
                            piece: number, payload: item.payload))
                case .audio(let track, _):
                    guard track >= 0, track < tracks.audio.count,
                        let time = timeline.audioTime(
                            track: track, item.rtpTimestamp, arrival: item.arrival, captured: item.captured)
                    else { continue }
                    blocks.append(
                        Block(
                            audioTrack: track, isKeyframe: true, time: time, piece: number,
                            payload: item.payload))
                }
            }
        }
        guard !blocks.isEmpty else { throw RecordingFailure("nothing has been received yet") }
        let wanted = min(length ?? ring.length, ring.length)
        end = max(timeline.elapsed(at: now), blocks.map(\.time).max() ?? 0)
        start = Self.start(blocks, video?.codec, wanted: max(end - wanted.nanoseconds / 1_000_000, 0))
        // A file has the colours of its first key frame.
        let keyframes = blocks.filter { $0.audioTrack == nil && $0.isKeyframe }
        let entry = keyframes.last { [start] in $0.time <= start } ?? keyframes.first
        video = video?.with(entry?.colorSpace)
    }

    /// The clip begins with the wanted instant if the picture of that instant can be shown, and with the first one that
    /// can be shown otherwise.
    private static func start(_ blocks: [Block], _ codec: VideoCodec?, wanted: Int64) -> Int64 {
        guard let codec else { return wanted }
        let keyframes = blocks.filter { $0.audioTrack == nil && $0.isKeyframe }
        guard let entry = keyframes.last(where: { $0.time <= wanted }) else {
            return keyframes.first?.time ?? wanted
        }
        // The frames before the start have to be hidden, which is known of VP8 alone.
        return codec == .vp8 ? wanted : entry.time
    }

    /// Writes the clip to a new, complete file. Blocks on the disk.
    func write(to destination: RecordingDestination, title: String?) throws(RecordingFailure) -> RecordedFile {
        do throws(RecordingFileFailure) {
            var writer = try ExcerptWriter(
                to: destination, video: video, audio: tracks.names.map { RecordedAudioTrack(name: $0) }, title: title)
            do throws(RecordingFileFailure) {
                copy(to: &writer)
                return try writer.finish(duration: end - start)
            } catch {
                writer.discard()
                throw error
            }
        } catch {
            throw RecordingFailure(error)
        }
    }

    private func copy(to writer: inout ExcerptWriter) {
        let frames = blocks.filter { $0.audioTrack == nil }
        let entry = frames.lastIndex { $0.isKeyframe && $0.time <= start } ?? 0
        let first = frames.lastIndex { $0.time <= start } ?? entry
        for (index, frame) in frames.enumerated().dropFirst(entry) {
            with(frame) { bytes in
                RecordedVideo.withBlock(of: video?.codec ?? .vp8, bytes) {
                    writer.addFrame(
                        $0, time: max(frame.time - start, 0), isKeyframe: frame.isKeyframe,
                        isDiscardable: frame.isDiscardable, isHidden: index < first)
                }
            }
        }
        for packet in blocks where packet.time >= start {
            guard let track = packet.audioTrack else { continue }
            with(packet) { bytes in writer.addPacket(bytes, track: track, time: packet.time - start) }
        }
    }

    private func with(_ block: Block, _ body: (UnsafeRawBufferPointer) -> Void) {
        pieces[block.piece].payloads.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[block.payload])) }
    }
}
