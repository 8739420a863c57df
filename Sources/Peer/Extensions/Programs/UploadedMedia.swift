package import ExtensionChannel
package import Host
package import LinuxRuntime
import MediaCore
package import MediaEngine
import Synchronization

/// The encoded samples that a host passes to the program of an extension, as the media of a broadcast of its own:
/// nothing is encoded again. What the broadcast asks of the encoder goes back to the host.
///
/// Samples come on one thread. Requests are sent on a thread of their own, `feedback`, at most 30 a second, as a host
/// ends a program that sends more than 50 messages.
package final class UploadedMedia: EncodedMediaSource {
    private struct Feedback {
        /// In bit/s, 0 while no frame is to be made; what the host knows, and what it has to know.
        var sentBitrate: Int?
        var bitrate: Int?
        var wantsKeyframe = false
        var isOver = false

        var isEmpty: Bool { !wantsKeyframe && (bitrate == nil || bitrate == sentBitrate) }
    }

    package let frames = FrameQueues()
    package let packets = FrameQueue<AudioPacketInfo>(capacity: 32, bytes: 2_048)
    /// The host's tracks that are published, in their order.
    package let tracks: [SampleDescription.AudioTrack]
    private let connection: ProgramConnection
    private let feedback = Monitor(Feedback())
    /// Frames up to the next key frame are dropped, as one before them was.
    private let isDropping = Mutex(false)
    private static let interval = MediaDuration.milliseconds(33)

    /// - Parameter tracks: of the host, which are published; the others are dropped.
    package init(_ connection: ProgramConnection, tracks: [SampleDescription.AudioTrack]) {
        self.connection = connection
        self.tracks = tracks
        _ = NamedThread("feedback") { [feedback] in Self.run(feedback, connection) }
    }

    /// Ends the thread.
    package func close() { feedback.change { $0.isOver = true } }

    /// Queues a sample.
    /// - Returns: which of `Broadcast.videoFramesQueued` and `audioPacketsQueued` has to be called.
    package func receive(_ sample: ReceivedSample) -> SampleKind? {
        let time = MediaInstant(nanoseconds: sample.description.time)
        switch sample.description.format {
        case .vp8(_, let isKeyframe, let layer, _, _):
            let isTaken = isDropping.withLock { isDropping in
                if isDropping, !isKeyframe { return false }
                let isTaken = frames[.main].push(
                    byteCount: sample.bytes.count,
                    FrameInfo(
                        of: sample.bytes, isKeyframe: isKeyframe, layer: layer, captured: time, changedSince: time)
                ) { $0.copyMemory(from: sample.bytes) }
                isDropping = !isTaken
                return isTaken
            }
            guard isTaken else {
                feedback.change { $0.wantsKeyframe = true }
                return nil
            }
            return .video
        case .opus(let track, _):
            guard let index = tracks.firstIndex(of: track),
                packets.push(
                    byteCount: sample.bytes.count, AudioPacketInfo(track: index, captured: time),
                    { $0.copyMemory(from: sample.bytes) })
            else { return nil }
            return .audio
        case .i420, .pcm: return nil
        }
    }

    // MARK: What the broadcast asks for

    package func apply(_ decision: EncoderPolicy.Decision) {
        let bitrate = decision.main.map { $0.isBlocked ? 0 : $0.bitrate.bitsPerSecond } ?? 0
        feedback.change { $0.bitrate = bitrate }
    }

    package func requestKeyframe(_ encoding: EncodingID, isFirst: Bool) { feedback.change { $0.wantsKeyframe = true } }

    /// The host makes no long-term references for others.
    package func requestRecovery(_ encoding: EncodingID, from number: UInt32) {
        requestKeyframe(encoding, isFirst: false)
    }

    package func setReferences(_ policy: LongTermReferencePolicy, of encoding: EncodingID) {}

    private static func run(_ feedback: Monitor<Feedback>, _ connection: ProgramConnection) {
        while true {
            let next = feedback.wait { next -> Feedback? in
                guard next.isOver || !next.isEmpty else { return nil }
                defer { (next.sentBitrate, next.wantsKeyframe) = (next.bitrate, false) }
                return next
            }
            guard !next.isOver else { return }
            if let bitrate = next.bitrate, bitrate != next.sentBitrate { connection.send(.bitrate(bitrate)) }
            if next.wantsKeyframe { connection.send(.keyframe) }
            _ = feedback.wait(until: MonotonicClock.now + interval) { $0.isOver ? true : nil }
        }
    }
}
