import LinuxRuntime
public import MediaCore
import Synchronization

/// Keeps the last seconds of a session's media in memory, still encoded, so that they can be saved at any moment.
///
/// Kept are whole groups of pictures: a key frame, the frames after it, and the audio meanwhile. A group is dropped
/// when all of it is older than the wanted length, or when there is no room for more. A key frame is requested only
/// when the newest group has become long.
/// - Isolation: as for `EncodedMediaSink`; `export` and `status` may be called from any thread.
public final class ClipBuffer: EncodedMediaSink {
    public struct Status: Equatable, Sendable {
        /// The length that a clip could have now.
        public var available: MediaDuration
        /// The greatest length of a clip.
        public var length: MediaDuration
        public var bytes: Int
    }

    private struct State {
        var ring: ClipRing
        var title: String?
        var requestKeyframe: (@Sendable (KeyframeRequest) -> Void)?
        var isClosed = false
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - length: what a clip can have at most.
    ///   - byteLimit: what is kept at most.
    public init(length: MediaDuration, byteLimit: Int = 64 << 20) {
        state = Mutex(State(ring: ClipRing(length: length, byteLimit: byteLimit)))
    }

    /// The title of the clips that are saved from now on.
    public func setTitle(_ title: String) { state.withLock { $0.title = title } }

    public var status: Status {
        state.withLock { state in
            Status(
                available: state.ring.available(at: MonotonicClock.now), length: state.ring.length,
                bytes: state.ring.byteCount)
        }
    }

    /// Saves the last seconds to a new file. The buffer goes on meanwhile, and stays as it is.
    ///
    /// The clip begins with the picture of that instant: the frames before it, up to the key frame, are in the file
    /// too, but are not shown (RFC 6386 section 9.1, `show_frame`).
    /// - Parameter length: nil: all that is kept; more than that is all, too.
    /// - Throws: if nothing has been received, or if the file cannot be written. Blocks on the disk.
    public func export(
        last length: MediaDuration? = nil, to destination: RecordingDestination
    ) throws(RecordingFailure) -> RecordedFile {
        let now = MonotonicClock.now
        let (ring, title) = state.withLock { ($0.ring, $0.title) }
        return try Clip(ring, last: length, at: now).write(to: destination, title: title)
    }

    // MARK: EncodedMediaSink

    public var videoCodecs: Set<VideoCodec> { RecordingFormat.videoCodecs }

    public func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        state.withLock { state in
            state.requestKeyframe = requestKeyframe
            state.ring.start(format, at: MonotonicClock.now)
        }
    }

    public func receive(_ frame: EncodedVideoFrame) {
        let now = MonotonicClock.now
        let request = state.withLock { state -> (@Sendable (KeyframeRequest) -> Void)? in
            guard !state.isClosed else { return nil }
            return state.ring.push(frame, at: now) ? state.requestKeyframe : nil
        }
        request?(.wanted)
    }

    public func receive(_ packet: EncodedAudioPacket) {
        guard case .packet(let bytes) = packet.payload else { return }
        let now = MonotonicClock.now
        state.withLock { state in
            if !state.isClosed { state.ring.push(bytes, packet, at: now) }
        }
    }

    public func close(_ done: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.isClosed = true
            state.ring.clear()
            state.requestKeyframe = nil
        }
        done()
    }
}
