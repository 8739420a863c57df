import LinuxRuntime
public import MediaCore
import MediaEngine
import Synchronization

/// Encodes a screen and its audio for sinks of this process, without a network: a recorder, a buffer for clips, or the
/// program of an extension.
///
/// Call `start` once, and `stop` at the end. From any thread.
public final class LocalEncoding: Sendable {
    public enum Event: Sendable {
        /// The screen cannot be captured any more.
        case videoEnded(SourceFailure)
        /// - Parameter summary: a description for people.
        case audioStarted(_ track: String, summary: String)
        case audioNotStarted(_ track: String, SourceFailure)
        case audioEnded(_ track: String, SourceFailure)
        case audioChanged(_ track: String, AudioSourceChange)
    }

    private struct Sinks {
        /// The threads of video and audio call the sinks one at a time.
        var receivers: [LocalReceiver] = []
        var holding = BroadcastHoldState()
        var isStopped = false
    }

    private let pipelines: MediaPipelines
    private let sinks = Mutex(Sinks())
    private let target: Mutex<EncodingTarget>

    /// - Parameter maximumBitrate: of video.
    public init(
        source: sending any ScreenSource, encoder: sending any VideoEncoder, audio inputs: [AudioInput],
        framesPerSecond: Int, maximumBitrate: Bitrate
    ) throws(CodecFailure) {
        pipelines = try MediaPipelines(
            source: source, encoder: encoder, audio: inputs, limits: .init(framesPerSecond: framesPerSecond),
            bitrate: maximumBitrate)
        target = Mutex(EncodingTarget(bitrate: maximumBitrate))
        setBitrate(maximumBitrate)
    }

    /// Starts the threads.
    /// - Parameter report: called on any of them.
    public func start(_ report: @escaping @Sendable (Event) -> Void) {
        pipelines.start(
            framesReady: { [self] in passFrames() }, packetsReady: { [self] in passPackets() }, report: report)
    }

    /// Adds a sink, which gets all media from the next key frame on. `stop` closes it.
    /// - Returns: false if the encoding has been stopped.
    /// - Throws: if the sink takes no VP8. It is not added then.
    @discardableResult
    public func add(_ sink: any EncodedMediaSink) throws(MediaSinkFailure) -> Bool {
        let pipelines = pipelines
        try sink.start(EncodedMediaFormat(video: .vp8, audio: pipelines.audio.map(\.kind))) { _ in
            pipelines.requestKeyframe(.main, isFirst: false)
        }
        let isAdded = sinks.withLock { sinks in
            if !sinks.isStopped {
                sinks.receivers.append(
                    LocalReceiver(sink, demandsMedia: true, records: true, audioTracks: pipelines.audio.count))
            }
            return !sinks.isStopped
        }
        pipelines.requestKeyframe(.main, isFirst: true)
        return isAdded
    }

    /// Removes a sink; it gets nothing from now on.
    /// - Returns: how many sinks are left.
    @discardableResult
    public func remove(_ sink: any EncodedMediaSink) -> Int {
        sinks.withLock { sinks in
            sinks.receivers.removeAll { $0.sink === sink }
            return sinks.receivers.count
        }
    }

    /// Ends the threads and closes the sinks. May be called twice.
    public func stop() async {
        await pipelines.stop()
        let open = sinks.withLock { sinks in
            defer { sinks = Sinks(receivers: [], isStopped: true) }
            return sinks.receivers.map(\.sink)
        }
        for sink in open { await sink.closed() }
    }

    // MARK: Control

    /// Begins or ends a hold. What was captured before, and is not passed on yet, is withheld as from viewers: see
    /// ``BroadcastHoldState``.
    /// - Parameter hold: nil: everything is captured, and a key frame follows.
    public func set(_ hold: BroadcastHold?) {
        let lacksKeyframe = sinks.withLock { sinks in
            sinks.holding.adopt(hold, now: MonotonicClock.now)
            return hold != .pause && sinks.holding.broken.contains(.main)
        }
        if hold == nil || lacksKeyframe { requestKeyframe() }
        pipelines.set(hold)
    }

    public func requestKeyframe() { pipelines.requestKeyframe(.main, isFirst: false) }

    /// - Parameter bitrate: of video; nil: no frame is made now.
    public func setBitrate(_ bitrate: Bitrate?) {
        let target = target.withLock { target in
            if let bitrate { target.bitrate = bitrate }
            target.isBlocked = bitrate == nil
            return target
        }
        pipelines.apply(EncoderPolicy.Decision(main: target))
    }

    public var statistics: VideoPipelineStatistics { pipelines.video.statistics }

    /// In their order.
    public var audioTracks: [AudioTrackState] { pipelines.audio.map(\.state) }

    /// A muted track passes nothing.
    /// - Returns: false if there is no track of this kind.
    public func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool {
        pipelines.setMuted(kind, isMuted).isKnown
    }

    // MARK: Media

    private func passFrames() {
        sinks.withLock { sinks in
            while pipelines.frames[.main].pop({ bytes, info in
                guard !sinks.holding.withholds(info) else { return }
                for receiver in sinks.receivers { receiver.receive(bytes, info) }
            }) {}
        }
    }

    private func passPackets() {
        sinks.withLock { sinks in
            while pipelines.packets.pop({ bytes, info in
                guard !sinks.holding.withholdsAudio(captured: info.captured) else { return }
                for receiver in sinks.receivers { receiver.receive(bytes, info) }
            }) {}
        }
    }
}
