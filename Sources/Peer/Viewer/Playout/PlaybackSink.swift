import LinuxRuntime
public import MediaCore
import MediaEngine
public import PeerConnection
import Synchronization

/// An event of a `PlaybackSink`.
public enum PlaybackEvent: Sendable {
    /// The first frame was decoded; the value is its size in pixels.
    case firstFrame(PixelSize)
    /// The first audio packet has come. Sent once.
    case audio
    /// Audio comes, and no video: none was negotiated, or no frame has come for 5 s. Sent once, and not after a frame.
    case audioAlone
    /// A track cannot be played; the others go on.
    case notice(Notice)
}

/// The statistics of a `PlaybackSink` since its creation, unless a member says otherwise.
public struct PlaybackStatistics: Sendable {
    public var decode = DecodeStatistics()
    /// Audio frames (of two samples) of all tracks.
    public var audioFramesPlayed = 0
    /// The loudest sample (0...32,768) since the last report.
    public var audioPeak = 0
}

/// Decodes and plays what a session receives: video to a `VideoSink`, each audio track to an `AudioSink` of its own.
///
/// Video is delayed only to match late audio (`LipSync`).
/// - Isolation: as for `EncodedMediaSink`; `setMuted` and `takeStatistics` may be called from any thread.
public final class PlaybackSink: EncodedMediaSink {
    private struct State {
        var video: DecodePipeline?
        var audio: [Int: PlayoutPipeline] = [:]
        /// Tracks without an output.
        var silentTracks: Set<Int> = []
        var isMuted = false
        var hasAudio = false
        var audioAlone = AudioAloneDetector()
        var lipSync = LipSync()
    }

    private let decoders: VideoDecoders
    private let videoSink: any VideoSink
    private let audioDecoder: @Sendable () throws(CodecFailure) -> any AudioDecoder
    private let makeSpeaker: @Sendable () throws(SourceFailure) -> (any AudioSink)?
    private let emit: @Sendable (PlaybackEvent) -> Void
    /// Of the session that the sink gets its media from now.
    private let requestKeyframe = Monitor<(@Sendable (KeyframeRequest) -> Void)?>(nil)
    /// Pipelines are added and removed on the network thread only.
    private let state = Mutex(State())

    /// - Parameters:
    ///   - decoders: of the video; their codecs are negotiated.
    ///   - videoSink: gets the decoded frames, on the thread `decode`.
    ///   - audioDecoder: makes the decoder of an audio track.
    ///   - makeSpeaker: makes the output of an audio track when its first packet comes; nil: the track is not played.
    ///   - emit: called on any thread.
    public init(
        decoders: VideoDecoders, videoSink: any VideoSink,
        audioDecoder: @escaping @Sendable () throws(CodecFailure) -> any AudioDecoder,
        makeSpeaker: @escaping @Sendable () throws(SourceFailure) -> (any AudioSink)?,
        emit: @escaping @Sendable (PlaybackEvent) -> Void = { _ in }
    ) {
        self.decoders = decoders
        self.videoSink = videoSink
        self.audioDecoder = audioDecoder
        self.makeSpeaker = makeSpeaker
        self.emit = emit
    }

    public var videoCodecs: Set<VideoCodec> { decoders.codecs }

    public func videoCodecs(for announced: VideoCodec) -> Set<VideoCodec> {
        decoders.builtIn.contains(announced) ? decoders.builtIn : decoders.codecs
    }

    public func start(
        _ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void
    ) throws(MediaSinkFailure) {
        state.withLock { state in
            state.lipSync = LipSync()
            state.audioAlone.hasVideo = format.video != nil
        }
        self.requestKeyframe.with { $0 = requestKeyframe }
        guard let codec = format.video else { return }
        guard decoders.canDecode(codec) else {
            return emit(.notice(.media(.videoUnsupported(codec))))
        }
        // Frames say their codec, so that a session of another one goes on in the same pipeline.
        guard state.withLock({ $0.video == nil }) else { return }
        let video: DecodePipeline
        do throws(CodecFailure) {
            video = try DecodePipeline(
                decoders: decoders, codec: codec, sink: videoSink, clock: { MonotonicClock.now },
                requestKeyframe: { [current = self.requestKeyframe] in current.with { $0 }?(.cannotContinue) },
                onFirstFrame: { [emit] in emit(.firstFrame($0)) })
        } catch {
            throw MediaSinkFailure("there is no video decoder: \(error.message) (\(error.code))")
        }
        state.withLock { $0.video = video }
    }

    public func receive(_ frame: EncodedVideoFrame) {
        let now = MonotonicClock.now
        let (video, hold) = state.withLock { state in
            state.audioAlone.noteFrame()
            return (state.video, frame.captured.map { state.lipSync.hold(captured: $0, now: now) } ?? .zero)
        }
        video?.push(frame, showAt: hold > .zero ? now + hold : nil)
    }

    public func receive(_ packet: EncodedAudioPacket) {
        let now = MonotonicClock.now
        let (isFirst, isAlone) = state.withLock { state in
            defer { state.hasAudio = true }
            return (!state.hasAudio, state.audioAlone.notePacket(now: now))
        }
        if isFirst { emit(.audio) }
        if isAlone { emit(.audioAlone) }
        guard let audio = playout(of: packet.track) else { return }
        audio.push(packet)
        guard let captured = packet.captured else { return }
        let latency = audio.latency
        state.withLock { $0.lipSync.noteAudio(captured: captured, latency: latency, now: now) }
    }

    private func playout(of track: Int) -> PlayoutPipeline? {
        let (known, isWanted) = state.withLock { state in
            // No device is opened while muted.
            (state.audio[track], !state.isMuted && !state.silentTracks.contains(track))
        }
        if known != nil || !isWanted { return known }
        let made = makePlayout()
        state.withLock { state in
            state.audio[track] = made
            if made == nil { state.silentTracks.insert(track) }
            made?.setMuted(state.isMuted)
        }
        return made
    }

    /// Creates the pipeline of an audio track.
    /// - Returns: nil if the track is not played.
    private func makePlayout() -> PlayoutPipeline? {
        do {
            // The decoder is created first, so that no device is opened if that fails.
            let decoder = try audioDecoder()
            guard let speaker = try makeSpeaker() else { return nil }
            return PlayoutPipeline(decoder: decoder, sink: speaker)
        } catch let failure as SourceFailure {
            let reason = failure.remedy.isEmpty ? failure.message : "\(failure.message) \(failure.remedy)"
            emit(.notice(.media(.soundMissing(reason: reason))))
        } catch {
            emit(.notice(.media(.soundMissing(reason: "\(error)"))))
        }
        return nil
    }

    public func setMuted(_ isMuted: Bool) {
        state.withLock { state in
            state.isMuted = isMuted
            for audio in state.audio.values { audio.setMuted(isMuted) }
        }
    }

    /// Returns the statistics, and begins a new report.
    public func takeStatistics() -> PlaybackStatistics {
        let (video, audio) = state.withLock { ($0.video, $0.audio) }
        var statistics = PlaybackStatistics()
        if let video { statistics.decode = video.takeStatistics() }
        for playout in audio.values {
            statistics.audioFramesPlayed += playout.framesPlayed
            statistics.audioPeak = max(statistics.audioPeak, playout.takePeak())
        }
        return statistics
    }

    public func close(_ done: @escaping @Sendable () -> Void) {
        let (video, audio) = state.withLock { ($0.video, $0.audio) }
        let open = Monitor(audio.count + 1)
        let closed: @Sendable () -> Void = {
            let isLast = open.with { count in
                count -= 1
                return count == 0
            }
            if isLast { done() }
        }
        for playout in audio.values { playout.close(closed) }
        if let video { video.close(closed) } else { closed() }
    }
}

/// Notices that a session has audio, and no video comes. A publisher may have negotiated video and send none.
struct AudioAloneDetector {
    /// Video was negotiated.
    var hasVideo = true
    private var firstPacket: MediaInstant?
    private var isSettled = false

    /// So long after the first packet no frame is expected any more.
    private static let patience = MediaDuration.seconds(5)

    mutating func noteFrame() { isSettled = true }

    /// - Returns: whether the session has audio alone; once.
    mutating func notePacket(now: MediaInstant) -> Bool {
        guard !isSettled else { return false }
        let first = firstPacket ?? now
        firstPacket = first
        guard !hasVideo || now - first >= Self.patience else { return false }
        isSettled = true
        return true
    }
}
