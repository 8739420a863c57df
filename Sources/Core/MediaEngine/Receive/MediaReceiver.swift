public import MediaCore
public import RTPWire

/// The receiving side of an RTP session without I/O: RTP and RTCP packets go in; complete VP8 frames, Opus packets in
/// order, and RTCP packets come out.
///
/// Call a `handle` function, then `poll` until it returns `.wait`. Confined to one thread. Allocates only in `init`.
public final class MediaReceiver {
    let parameters: ReceiverParameters
    var video: FrameAssembler?
    var videoStream: ReceiveStream
    /// 0: not known yet.
    var rtxSSRC: UInt32
    var tracks: [Track]
    var nacks = NackGenerator()
    var keyframeRequester = KeyframeRequester()
    var feedback: TransportFeedbackGenerator
    var reports: ReceiverReportSchedule
    /// By XR reports (RFC 3611).
    var roundTripTimes = RoundTripTimeEstimator()
    var counters = ReceiverStatistics()
    /// When a frame was last returned.
    var lastFrame: MediaInstant?
    /// A long-term reference was returned, and is to be acknowledged.
    var isAcknowledgementDue = false
    var bye = ByeState.none
    /// Whether the sender's BYE came, and whether `poll` has returned its event.
    enum ByeState { case none, received, reported }

    /// The receiving state of one audio stream.
    struct Track {
        let parameters: AudioStreamParameters
        var stream: ReceiveStream
        var buffer = AudioJitterBuffer()
    }

    /// - Parameters:
    ///   - seed: reserved for pseudorandom values.
    ///   - ntpEpoch: the wall clock at `now`.
    public init(_ parameters: ReceiverParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.parameters = parameters
        reports = ReceiverReportSchedule(ntpEpoch: ntpEpoch, now: now)
        videoStream = ReceiveStream(ssrc: parameters.video?.ssrc ?? 0, clockRate: 90_000)
        rtxSSRC = parameters.video?.rtxSSRC ?? 0
        video = parameters.video == nil ? nil : FrameAssembler(capacity: parameters.packetCapacity)
        tracks = parameters.audio.map {
            Track(parameters: $0, stream: ReceiveStream(ssrc: $0.ssrc, clockRate: AudioFormat.sampleRate))
        }
        feedback = TransportFeedbackGenerator(
            senderSSRC: parameters.localSSRC, mediaSSRC: parameters.video?.ssrc ?? parameters.audio.first?.ssrc ?? 0,
            epoch: now)
    }

    // MARK: Input

    /// Takes in one RTP packet after SRTP unprotection. A malformed packet is counted and dropped.
    public func handleRTP(_ bytes: UnsafeRawBufferPointer, now: MediaInstant) {
        guard !hasEnded else { return }
        do throws(RTPMalformed) {
            try handle(try RTPPacketView(bytes), bytes.count, now)
        } catch {
            counters.drops.malformed[Int(error.reason.rawValue)] &+= 1
        }
    }

    private func handle(_ packet: RTPPacketView, _ size: Int, _ now: MediaInstant) throws(RTPMalformed) {
        let values = packet.values(of: parameters.extensions)
        guard let source = source(of: packet, values) else { return counters.drops.unknownSource &+= 1 }
        counters.packets &+= 1
        counters.bytes &+= size
        if parameters.usesTransportFeedback, let number = values.transportSequence { feedback.note(number, now: now) }
        reports.noteActivity(now: now)
        switch source {
        case .video: try handleVideo(packet, values, isRetransmission: false, now)
        case .rtx:
            guard let stream = parameters.video else { return }
            let original = try RTX.unwrap(packet, ssrc: videoStream.ssrc, payloadType: stream.payloadType)
            guard let original else { return counters.paddingPackets &+= 1 }
            counters.retransmissions &+= 1
            try handleVideo(original, values, isRetransmission: true, now)
        case .audio(let track): try handleAudio(packet, track, now)
        }
    }

    private enum Source { case video, rtx, audio(Int) }

    /// The stream of a packet by SSRC; if the stream's SSRC is not known yet, by payload type and MID.
    private func source(of packet: RTPPacketView, _ values: HeaderExtensionValuesView) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video {
            if packet.ssrc == videoStream.ssrc, type == stream.payloadType { return .video }
            if packet.ssrc == rtxSSRC, type == stream.rtxPayloadType { return .rtx }
        }
        for index in tracks.indices
        where packet.ssrc == tracks[index].stream.ssrc && tracks[index].parameters.carries(type) {
            return .audio(index)
        }
        return adopt(packet, values)
    }

    /// Binds an unknown SSRC to a stream whose SSRC is not known yet.
    private func adopt(_ packet: RTPPacketView, _ values: HeaderExtensionValuesView) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video, values.mid == nil || values.isMid(stream.mid) {
            if videoStream.ssrc == 0, type == stream.payloadType {
                videoStream.ssrc = packet.ssrc
                return .video
            }
            if rtxSSRC == 0, type == stream.rtxPayloadType {
                rtxSSRC = packet.ssrc
                return .rtx
            }
        }
        for index in tracks.indices where tracks[index].stream.ssrc == 0 && tracks[index].parameters.carries(type) {
            guard values.mid == nil || values.isMid(tracks[index].parameters.mid) else { continue }
            tracks[index].stream.ssrc = packet.ssrc
            return .audio(index)
        }
        return nil
    }

    /// To be called when the decoder could not use a frame: no frame is returned until the next key frame, which is
    /// requested.
    public func requestKeyframe(now: MediaInstant) {
        guard !hasEnded, video != nil else { return }
        video?.waitForKeyframe()
        keyframeRequester.need(now: now)
    }

    // MARK: State

    /// Long-term references were negotiated.
    public var hasReferences: Bool { parameters.extensions[.frameReferences] != nil }

    var hasEnded: Bool { bye != .none }

    /// By XR reports (RFC 3611), if the sender answers them; else from a NACK to the retransmission, which includes its
    /// wait in the sender's pacer. Nil before the first answer.
    public var roundTripTime: MediaDuration? { roundTripTimes.reported ?? (nacks.hasRoundTrip ? nacks.roundTrip : nil) }

    /// The sender's bandwidth estimate for the path, by its last report; nil if it sends none.
    public internal(set) var estimate: Bitrate?

    public var statistics: ReceiverStatistics {
        var result = counters
        for track in tracks {
            result.audioLost &+= track.buffer.lost
            result.audioLate &+= track.buffer.late
            result.audioRestored &+= track.buffer.restored
            result.audioDelay = max(
                result.audioDelay, MediaDuration(nanoseconds: Int64(track.buffer.delayMilliseconds * 1e6)))
        }
        result.drops.badFrames &+= video?.badFrames ?? 0
        return result
    }
}
