public import Identifiers
import LinuxRuntime
public import MediaCore
public import PeerConnection
import Synchronization

/// The own screen for sinks of this process alone: a recording without viewers, port and link.
///
/// It is controlled like a broadcast: other programs of the user see, pause and end it.
public final class ScreenRecording: ControllableBroadcast {
    private struct State {
        var pausedSince: MediaInstant?
        /// Why it ends.
        var reason: EndReason?
        var hasStarted = false
    }

    private let encoding: LocalEncoding
    private let emit: @Sendable (BroadcastEvent) -> Void
    private let state = Mutex(State())

    /// - Parameter emit: called from any thread.
    public init(
        source: sending any ScreenSource, encoder: sending any VideoEncoder, audio: [AudioInput], framesPerSecond: Int,
        maximumBitrate: Bitrate, emit: @escaping @Sendable (BroadcastEvent) -> Void
    ) throws(CodecFailure) {
        encoding = try LocalEncoding(
            source: source, encoder: encoder, audio: audio, framesPerSecond: framesPerSecond,
            maximumBitrate: maximumBitrate)
        self.emit = emit
    }

    /// Starts to capture, once the sinks were added.
    public func start() {
        guard state.withLock({ $0.reason == nil && !$0.hasStarted }) else { return }
        state.withLock { $0.hasStarted = true }
        encoding.start { [weak self] event in self?.handle(event) }
    }

    private func handle(_ event: LocalEncoding.Event) {
        if case .videoEnded(let failure) = event {
            Task { await self.stop(EndReason(failure)) }
        } else if let event = BroadcastEvent(event) {
            emit(event)
        }
    }

    // MARK: Control

    @discardableResult
    public func pause() async -> Bool {
        let isPaused = state.withLock { state in
            guard state.reason == nil, state.pausedSince == nil else { return false }
            state.pausedSince = MonotonicClock.now
            return true
        }
        guard isPaused else { return false }
        encoding.setPaused(true)
        emit(.broadcastPaused)
        return true
    }

    @discardableResult
    public func resume() async -> Bool {
        let since = state.withLock { state in
            defer { if state.reason == nil { state.pausedSince = nil } }
            return state.reason == nil ? state.pausedSince : nil
        }
        guard let since else { return false }
        encoding.setPaused(false)
        emit(.broadcastResumed(after: MonotonicClock.now - since))
        return true
    }

    public func isPaused() async -> Bool { state.withLock { $0.pausedSince != nil && $0.reason == nil } }

    public var audioTracks: [AudioTrackState] { encoding.audioTracks }

    @discardableResult
    public func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        guard encoding.setAudioMuted(kind, isMuted) else { return false }
        emit(.audioMuted(kind, isMuted: isMuted))
        return true
    }

    /// None: nobody receives it.
    public func viewers() async -> [ViewerSessionInfo] { [] }

    @discardableResult
    public func remove(viewer id: SessionID) async -> Int? { nil }

    public func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) async throws(MediaSinkFailure) {
        do throws(MediaSinkFailure) {
            if try encoding.add(sink) { return }
        } catch {
            await sink.closed()
            throw error
        }
        await sink.closed()
    }

    public func remove(_ sink: any EncodedMediaSink) async {
        encoding.remove(sink)
        await sink.closed()
    }

    public func statistics() async -> HostStatistics? {
        let (isRunning, isPaused) = state.withLock { ($0.reason == nil, $0.pausedSince != nil) }
        guard isRunning else { return nil }
        var statistics = HostStatistics(video: encoding.statistics)
        statistics.destination = .file
        statistics.connected = 1
        statistics.sent.bytes = statistics.video.bytes
        statistics.isPaused = isPaused
        statistics.audio = encoding.audioTracks
        return statistics
    }

    public func stop(_ reason: EndReason) async {
        let isFirst = state.withLock { state in
            defer { state.reason = state.reason ?? reason }
            return state.reason == nil
        }
        guard isFirst else { return }
        await encoding.stop()
        emit(.ended(reason))
    }
}
