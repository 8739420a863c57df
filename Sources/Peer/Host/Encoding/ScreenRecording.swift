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
        var holding = BroadcastHoldState()
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
    public func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool {
        let change = state.withLock { state -> BroadcastHoldChange? in
            guard state.reason == nil, let change = state.holding.set(hold, isOn, now: MonotonicClock.now) else {
                return nil
            }
            // In the order of the changes.
            encoding.set(change.effective)
            return change
        }
        guard let change else { return false }
        emit(.holdChanged(change))
        return true
    }

    public func holds() async -> Set<BroadcastHold> { state.withLock { $0.reason == nil ? $0.holding.holds : [] } }

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
        let (isRunning, holds) = state.withLock { ($0.reason == nil, $0.holding.holds) }
        guard isRunning else { return nil }
        var statistics = HostStatistics(video: encoding.statistics)
        statistics.destination = .file
        statistics.connected = 1
        statistics.sent.bytes = statistics.video.bytes
        statistics.holds = holds
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
