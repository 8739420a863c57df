import ExtensionChannel
public import Host
public import Identifiers
import LinuxRuntime
public import MediaCore

extension ExtensionBroadcast: ControllableBroadcast {
    // MARK: Holds

    /// The program is told of pauses. A blank frame is a frame to it.
    @discardableResult
    public func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool {
        let change = state.with { state -> BroadcastHoldChange? in
            guard state.reason == nil, let uploader = state.uploader, let process = state.process else { return nil }
            let former = state.holding.effective
            guard let change = state.holding.set(hold, isOn, now: MonotonicClock.now) else { return nil }
            // In the order of the changes.
            uploader.set(change.effective)
            if (former == .pause) != (change.effective == .pause) {
                process.send(change.effective == .pause ? .paused : .resumed)
            }
            return change
        }
        guard let change else { return false }
        emit(.holdChanged(change))
        return true
    }

    public func holds() async -> Set<BroadcastHold> { state.with { $0.reason == nil ? $0.holding.holds : [] } }

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
        let (uploader, holds) = state.with { ($0.reason == nil ? $0.uploader : nil, $0.holding.holds) }
        guard let uploader else { return nil }
        var statistics = HostStatistics(video: uploader.statistics)
        let viewers = state.with { $0.viewers }
        statistics.viewers = viewers ?? 0
        statistics.destination = BroadcastReceiver(
            name: configuration.name, countsViewers: viewers != nil, state.with { $0.info })
        statistics.connected = 1
        // Nothing for raw frames.
        statistics.sent.bytes = statistics.video.bytes
        statistics.holds = holds
        statistics.audio = uploader.audioTracks
        return statistics
    }
}
