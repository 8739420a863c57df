import ExtensionChannel
public import Host
public import Identifiers
import LinuxRuntime
public import MediaCore

extension ExtensionBroadcast: ControllableBroadcast {
    // MARK: Pause

    /// Stops capturing; the program is told.
    @discardableResult
    public func pause() async -> Bool {
        guard
            let (uploader, process) = pipeline(
                where: { $0.pausedSince == nil }, { $0.pausedSince = MonotonicClock.now })
        else { return false }
        uploader.setPaused(true)
        process.send(.paused)
        emit(.broadcastPaused)
        return true
    }

    @discardableResult
    public func resume() async -> Bool {
        var pause = MediaDuration.zero
        guard
            let (uploader, process) = pipeline(
                where: { $0.pausedSince != nil },
                { state in
                    if let since = state.pausedSince { pause = MonotonicClock.now - since }
                    state.pausedSince = nil
                })
        else { return false }
        uploader.setPaused(false)
        process.send(.resumed)
        emit(.broadcastResumed(after: pause))
        return true
    }

    public func isPaused() async -> Bool { state.with { $0.pausedSince != nil && $0.reason == nil } }

    // MARK: Audio

    public var audioTracks: [AudioTrackState] { state.with { $0.uploader }?.audioTracks ?? [] }

    @discardableResult
    public func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        guard let uploader = state.with({ $0.uploader }), uploader.setAudioMuted(kind, isMuted) else { return false }
        emit(.audioMuted(kind, isMuted: isMuted))
        return true
    }

    // MARK: Receivers

    public func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) async throws(MediaSinkFailure) {
        let uploader = state.with { $0.reason == nil ? $0.uploader : nil }
        do throws(MediaSinkFailure) {
            if let uploader, try uploader.add(sink) { return }
        } catch {
            await sink.closed()
            throw error
        }
        // The broadcast has ended, or has not begun.
        await sink.closed()
    }

    public func remove(_ sink: any EncodedMediaSink) async {
        await state.with { $0.uploader }?.remove(sink)
        await sink.closed()
    }

    /// None: the program is no viewer.
    public func viewers() async -> [ViewerSessionInfo] { [] }

    @discardableResult
    public func remove(viewer id: SessionID) async -> Int? { nil }

    func noteViewers(_ told: Int?) {
        guard let viewers = told.map({ max($0, 0) }) else { return }
        let isNew = state.with { state in
            defer { state.viewers = viewers }
            return state.viewers != viewers
        }
        if isNew { emit(.viewerCount(viewers)) }
    }

    public func statistics() async -> HostStatistics? {
        let (uploader, isPaused) = state.with { ($0.reason == nil ? $0.uploader : nil, $0.pausedSince != nil) }
        guard let uploader else { return nil }
        var statistics = HostStatistics(video: uploader.statistics)
        let viewers = state.with { $0.viewers }
        statistics.viewers = viewers ?? 0
        statistics.destination = BroadcastReceiver(
            name: configuration.name, countsViewers: viewers != nil, state.with { $0.info })
        statistics.connected = 1
        // Nothing for raw frames.
        statistics.sent.bytes = statistics.video.bytes
        statistics.isPaused = isPaused
        statistics.audio = uploader.audioTracks
        return statistics
    }

    /// Changes the state of a broadcast that runs.
    /// - Returns: nil if it does not run, or the condition does not hold.
    private func pipeline(
        where condition: (State) -> Bool, _ change: (inout State) -> Void
    ) -> (any SampleUploader, ExtensionProcess)? {
        state.with { state in
            guard state.reason == nil, condition(state), let uploader = state.uploader, let process = state.process
            else { return nil }
            change(&state)
            return (uploader, process)
        }
    }
}
