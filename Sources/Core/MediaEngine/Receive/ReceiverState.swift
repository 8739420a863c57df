import MediaCore
import RTPWire

/// The state of a `MediaReceiver` and what it does. A value that is never copied, so Swift checks exclusive access to
/// it once a call of the owner, not for each part.
struct ReceiverState: ~Copyable {
    let parameters: ReceiverParameters
    var video: VideoReceiveStream
    let forwarded: ForwardedInput?
    var tracks: [Track]
    var nacks = NackGenerator()
    var keyframeRequester = KeyframeRequester()
    var feedback: TransportFeedbackGenerator
    var bitrateLimit = BitrateLimitReporter()
    var reports: ReceiverReportSchedule
    /// By XR reports (RFC 3611).
    var roundTripTimes = RoundTripTimeEstimator()
    var counters = ReceiverStatistics()
    /// The sender's bandwidth estimate for the path, by its last report; nil if it sends none.
    var estimate: Bitrate?
    var bye = ByeState.none
    /// Whether the sender's BYE came, and whether `poll` has returned its event.
    enum ByeState { case none, received, reported }

    /// The receiving state of one audio stream.
    struct Track {
        let parameters: AudioStreamParameters
        var stream: RTPStreamState
        /// Nil: the packets are forwarded.
        var buffer: AudioJitterBuffer?
        var forwarded: ForwardedAudioInput?
    }

    init(
        _ parameters: ReceiverParameters, ntpEpoch: NTPTimestamp, forwarded: ForwardedMedia?, now: MediaInstant
    ) {
        self.parameters = parameters
        self.forwarded = (forwarded?.video).map { ForwardedInput($0) }
        reports = ReceiverReportSchedule(ntpEpoch: ntpEpoch, now: now)
        video = VideoReceiveStream(parameters)
        let inputs = (forwarded?.audio ?? []).map { ForwardedAudioInput($0) }
        tracks = parameters.audio.enumerated().map { index, stream in
            let input = inputs.indices.contains(index) ? inputs[index] : nil
            return Track(
                parameters: stream, stream: RTPStreamState(ssrc: stream.ssrc, clockRate: AudioFormat.sampleRate),
                buffer: input == nil ? AudioJitterBuffer() : nil, forwarded: input)
        }
        feedback = TransportFeedbackGenerator(
            senderSSRC: parameters.localSSRC, mediaSSRC: parameters.video?.ssrc ?? parameters.audio.first?.ssrc ?? 0,
            epoch: now)
    }

    // MARK: Input

    mutating func handleRTP(_ bytes: UnsafeRawBufferPointer, arrival: MediaInstant, now: MediaInstant) {
        guard !hasEnded else { return }
        do throws(RTPMalformed) {
            try handle(try RTPPacketView(bytes), bytes.count, arrival, now)
        } catch {
            counters.drops.malformed[Int(error.reason.rawValue)] &+= 1
        }
    }

    private mutating func handle(
        _ packet: RTPPacketView, _ size: Int, _ arrival: MediaInstant, _ now: MediaInstant
    ) throws(RTPMalformed) {
        let values = packet.values(of: parameters.extensions)
        guard let source = source(of: packet, values, now) else { return counters.drops.unknownSource &+= 1 }
        counters.packets &+= 1
        counters.bytes &+= size
        if parameters.usesTransportFeedback, let number = values.transportSequence {
            feedback.note(number, now: arrival)
        }
        reports.noteActivity(now: now)
        switch source {
        case .video: try handleVideo(packet, values, isRetransmission: false, arrival, now)
        case .rtx:
            guard let stream = parameters.video else { return }
            let original = try RTX.unwrap(packet, ssrc: video.stream.ssrc, payloadType: stream.payloadType)
            guard let original else { return counters.paddingPackets &+= 1 }
            counters.video.retransmissions &+= 1
            try handleVideo(original, values, isRetransmission: true, arrival, now)
        case .audio(let track): try handleAudio(packet, track, now)
        }
    }

    private enum Source { case video, rtx, audio(Int) }

    /// The stream of a packet by SSRC; if nothing has come with the announced one, by MID and payload type (RFC 9143
    /// section 9.2).
    private mutating func source(
        of packet: RTPPacketView, _ values: HeaderExtensionValuesView, _ now: MediaInstant
    ) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video {
            if packet.ssrc == video.stream.ssrc, type == stream.payloadType { return .video }
            if packet.ssrc == video.rtxSSRC, type == stream.rtxPayloadType {
                video.hasRTX = true
                return .rtx
            }
        }
        for index in tracks.indices
        where packet.ssrc == tracks[index].stream.ssrc && tracks[index].parameters.carries(type) {
            return .audio(index)
        }
        return adopt(packet, values, now)
    }

    /// Binds an unknown SSRC to a stream of which nothing has come, or that has been silent. The announced SSRC of a
    /// stream is taken before any other. Its numbers and times start anew.
    private mutating func adopt(
        _ packet: RTPPacketView, _ values: HeaderExtensionValuesView, _ now: MediaInstant
    ) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video, values.mid == nil || values.isMid(stream.mid) {
            let isOwn = video.stream.yields(to: packet.ssrc, announced: stream.ssrc)
            if video.stream.isFree(now: now) || isOwn, type == stream.payloadType {
                if video.stream.lastPacket != nil {
                    if video.hasRTX { video.rtxSSRC = 0 }
                    video.assembler?.restart()
                    forwarded?.restart()
                    nacks.removeAll()
                }
                video.stream.rebind(to: packet.ssrc, clockRate: 90_000)
                return .video
            }
            if video.rtxSSRC == 0 || !video.hasRTX, type == stream.rtxPayloadType {
                video.rtxSSRC = packet.ssrc
                video.hasRTX = true
                return .rtx
            }
        }
        for index in tracks.indices where tracks[index].parameters.carries(type) {
            let track = tracks[index]
            let isOwn = track.stream.yields(to: packet.ssrc, announced: track.parameters.ssrc)
            guard isOwn || track.stream.isFree(now: now) else { continue }
            guard values.mid == nil || values.isMid(tracks[index].parameters.mid) else { continue }
            if tracks[index].stream.lastPacket != nil { tracks[index].restart() }
            tracks[index].stream.rebind(to: packet.ssrc, clockRate: AudioFormat.sampleRate)
            return .audio(index)
        }
        return nil
    }

    mutating func requestKeyframe(_ request: KeyframeRequest, now: MediaInstant) {
        guard !hasEnded, video.assembler != nil else { return }
        switch request {
        case .cannotContinue:
            video.assembler?.waitForKeyframe()
            keyframeRequester.need(now: now)
        case .wanted: video.isKeyframeWanted = true
        }
    }

    // MARK: State

    /// Long-term references were negotiated.
    var hasReferences: Bool { parameters.extensions[.frameReferences] != nil }

    var hasEnded: Bool { bye != .none }

    var roundTripTime: MediaDuration? { roundTripTimes.reported ?? (nacks.hasRoundTrip ? nacks.roundTrip : nil) }

    var statistics: ReceiverStatistics {
        var result = counters
        for track in tracks {
            result.audioLost &+= track.buffer?.lost ?? track.forwarded?.lost ?? 0
            result.audioLate &+= track.buffer?.late ?? track.forwarded?.late ?? 0
            result.audioRestored &+= track.buffer?.restored ?? track.forwarded?.restored ?? 0
            result.audioDelay = max(
                result.audioDelay, MediaDuration(nanoseconds: Int64((track.buffer?.delayMilliseconds ?? 0) * 1e6)))
        }
        result.drops.badFrames &+= video.assembler?.badFrames ?? 0
        return result
    }
}
