import LinuxRuntime
public import MediaCore
import WebMContainer

/// Writes what a session receives to WebM or Matroska files, without decoding it.
///
/// The network thread only copies frames into a queue. The thread `disk` writes them twice a second, and puts them on
/// the disk each second. So a file can be played at every moment, and is complete but for the last second if the
/// process is killed.
/// - Isolation: as for `EncodedMediaSink`; `setTitle` and `statistics` may be used from any thread.
public final class Recorder: EncodedMediaSink {
    private struct State {
        var title: String?
        var statistics = RecordingStatistics()
        var thread: NamedThread?
        var isClosed = false
        var requestKeyframe: (@Sendable (KeyframeRequest) -> Void)?
        var lastRequest: MediaInstant?
        var reserved: RecordingFile?
        /// When the recording began, until it has ended.
        var began: MediaInstant?
    }

    private let queue = RecordingQueue()
    private let destination: RecordingDestination
    private let split: RecordingSplit?
    private let emit: @Sendable (RecordingEvent) -> Void
    private let state: Monitor<State>

    private static let writeInterval = MediaDuration.milliseconds(500)
    private static let syncInterval = MediaDuration.seconds(1)
    /// Key frames are requested at most this often.
    private static let requestInterval = MediaDuration.seconds(3)

    /// - Parameters:
    ///   - reservesFile: creates the first file at once, so that a name that cannot be used is known before the
    ///     session. A file into which nothing was written is removed.
    ///   - split: when to go on in another file; nil: never.
    ///   - emit: called on the thread `disk`.
    public init(
        to destination: RecordingDestination, reservesFile: Bool = true, split: RecordingSplit? = nil,
        emit: @escaping @Sendable (RecordingEvent) -> Void = { _ in }
    ) throws(RecordingFailure) {
        self.destination = destination
        self.split = split
        self.emit = emit
        var state = State()
        if reservesFile {
            do throws(RecordingFileFailure) {
                state.reserved = try destination.create(1)
            } catch {
                throw RecordingFailure(error)
            }
        }
        self.state = Monitor(state)
    }

    /// The title of the files that begin from now on.
    public func setTitle(_ title: String) { state.with { $0.title = title } }

    public var statistics: RecordingStatistics {
        var statistics = state.with { $0.statistics }
        statistics.dropped = queue.dropped
        if let began = state.with({ $0.began }) { statistics.duration = MonotonicClock.now - began }
        return statistics
    }

    // MARK: EncodedMediaSink

    public var videoCodecs: Set<VideoCodec> { RecordingFormat.videoCodecs }

    public func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        let isFirst = state.with { state in
            state.requestKeyframe = requestKeyframe
            return state.thread == nil && !state.isClosed
        }
        queue.start(format, now: MonotonicClock.now)
        guard isFirst else { return }
        let thread: NamedThread
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start("disk") { [self] in run() }
        } catch {
            throw MediaSinkFailure("the system has no thread left for the disk")
        }
        state.with { $0.thread = thread }
    }

    public func receive(_ frame: EncodedVideoFrame) {
        if queue.push(frame, now: MonotonicClock.now) == .needsKeyframe { request(.cannotContinue) }
    }

    public func receive(_ packet: EncodedAudioPacket) {
        guard case .packet(let bytes) = packet.payload else { return }
        queue.push(bytes, packet, now: MonotonicClock.now)
    }

    public func close(_ done: @escaping @Sendable () -> Void) {
        let (thread, unused) = state.with { state in
            state.isClosed = true
            // The thread takes the file when it starts.
            defer { if state.thread == nil { state.reserved = nil } }
            return (state.thread, state.thread == nil ? state.reserved : nil)
        }
        unused?.close()
        queue.close()
        if let thread { thread.whenEnded(done) } else { done() }
    }

    private func request(_ request: KeyframeRequest) {
        let now = MonotonicClock.now
        let send = state.with { state -> (@Sendable (KeyframeRequest) -> Void)? in
            // A recorder that cannot continue has asked once, and asks again only with the next overflow.
            if let last = state.lastRequest, request == .wanted, now - last < Self.requestInterval { return nil }
            state.lastRequest = now
            return state.requestKeyframe
        }
        send?(request)
    }

    // MARK: The thread `disk`

    private func run() {
        RecordingFile.ignoreSizeSignal()
        let reserved = state.with { state in
            defer { state.reserved = nil }
            return state.reserved
        }
        var writer = RecordingWriter(
            destination: destination, reserved: reserved, split: split,
            title: { [state] in state.with { $0.title } }, emit: emit)
        var batch = RecordingQueue.Batch()
        var isClosed = false
        var nextWrite = MonotonicClock.now + Self.writeInterval
        var nextSync = MonotonicClock.now + Self.syncInterval
        var dropped = 0
        while !isClosed {
            (batch, isClosed) = queue.take(at: nextWrite, empty: batch)
            writer.take(batch)
            let now = MonotonicClock.now
            writer.flush(now: now)
            if now >= nextSync {
                writer.sync(now: now)
                nextSync = now + Self.syncInterval
            }
            nextWrite = now + Self.writeInterval
            if writer.wantsKeyframe { request(.wanted) }
            if queue.dropped > dropped {
                dropped = queue.dropped
                emit(.dropped(dropped))
            }
            state.with { state in
                state.statistics = writer.statistics
                state.began = writer.hasFailed ? nil : writer.began
            }
            // Media after a failure is dropped.
            if writer.hasFailed { queue.close() }
        }
        writer.finish(now: MonotonicClock.now)
        state.with { state in
            state.statistics = writer.statistics
            state.began = nil
        }
    }
}
