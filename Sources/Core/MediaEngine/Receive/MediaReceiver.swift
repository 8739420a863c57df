public import MediaCore
public import RTPWire

/// The receiving side of an RTP session without I/O: RTP and RTCP packets go in; complete VP8 frames, Opus packets in
/// order, and RTCP packets come out.
///
/// Call a `handle` function, then `poll` until it returns `.wait`. Confined to one thread. Allocates only in `init`.
public final class MediaReceiver {
    let parameters: ReceiverParameters
    let ntpEpoch: NTPTimestamp
    let epoch: MediaInstant
    var videoSSRC: UInt32
    var rtxSSRC: UInt32
    var video: FrameAssembler?
    var videoSequence = SequenceValidator()
    var videoStatistics = ReceptionStatistics(clockRate: 90_000)
    var videoClock = ClockMapping(clockRate: 90_000)
    var nacks = NackGenerator()
    var keyframeRequester = KeyframeRequester()
    /// When a frame was last returned.
    var lastFrame: MediaInstant?
    /// When the last PLI is sent a second time, as it may have been lost.
    var pictureLossEcho = MediaInstant.distantFuture
    var tracks: [Track]
    var feedback: TransportFeedbackGenerator
    var counters = ReceiverStatistics()
    var nextReport: MediaInstant?
    var hasEnded = false
    var pendingBye = false
    var pendingKeyframeEvent = false
    /// The round trip time by XR reports (RFC 3611), smoothed.
    var reportTime: MediaDuration?
    /// A long-term reference was returned, and is to be acknowledged.
    var isAcknowledgementDue = false

    /// The receiving state of one audio stream.
    struct Track {
        let stream: AudioStreamParameters
        var ssrc: UInt32
        var sequence = SequenceValidator()
        var statistics = ReceptionStatistics(clockRate: AudioFormat.sampleRate)
        var clock = ClockMapping(clockRate: AudioFormat.sampleRate)
        var buffer = AudioJitterBuffer()
    }

    /// - Parameters:
    ///   - seed: reserved for pseudorandom values.
    ///   - ntpEpoch: the wall clock at `now`.
    public init(_ parameters: ReceiverParameters, seed: UInt64, ntpEpoch: NTPTimestamp, now: MediaInstant) {
        self.parameters = parameters
        self.ntpEpoch = ntpEpoch
        epoch = now
        videoSSRC = parameters.video?.ssrc ?? 0
        rtxSSRC = parameters.video?.rtxSSRC ?? 0
        video = parameters.video == nil ? nil : FrameAssembler(capacity: parameters.packetCapacity)
        tracks = parameters.audio.map { Track(stream: $0, ssrc: $0.ssrc) }
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
        if parameters.hasTransportFeedback, let number = values.transportSequence { feedback.note(number, now: now) }
        if let nextReport, nextReport > now + .seconds(1) { self.nextReport = now + .seconds(1) }
        switch source {
        case .video: try handleVideo(packet, values, isRetransmission: false, now)
        case .rtx:
            guard let stream = parameters.video else { return }
            let original = try RTX.unwrap(packet, ssrc: videoSSRC, payloadType: stream.payloadType)
            guard let original else { return counters.paddingPackets &+= 1 }
            counters.retransmissions &+= 1
            try handleVideo(original, values, isRetransmission: true, now)
        case .audio(let track): try handleAudio(packet, track, now)
        }
    }

    private enum Source { case video, rtx, audio(Int) }

    /// The stream of a packet by SSRC; if the stream's SSRC is not known yet, by payload type and MID.
    private func source(of packet: RTPPacketView, _ values: ReceivedExtensions) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video {
            if packet.ssrc == videoSSRC, type == stream.payloadType { return .video }
            if packet.ssrc == rtxSSRC, type == stream.rtxPayloadType { return .rtx }
        }
        for index in tracks.indices where packet.ssrc == tracks[index].ssrc && tracks[index].stream.carries(type) {
            return .audio(index)
        }
        return adopt(packet, values)
    }

    /// Binds an unknown SSRC to a stream whose SSRC is not known yet.
    private func adopt(_ packet: RTPPacketView, _ values: ReceivedExtensions) -> Source? {
        let type = packet.payloadType
        if let stream = parameters.video, values.mid == nil || values.isMid(stream.mid) {
            if videoSSRC == 0, type == stream.payloadType {
                videoSSRC = packet.ssrc
                return .video
            }
            if rtxSSRC == 0, type == stream.rtxPayloadType {
                rtxSSRC = packet.ssrc
                return .rtx
            }
        }
        for index in tracks.indices where tracks[index].ssrc == 0 && tracks[index].stream.carries(type) {
            guard values.mid == nil || values.isMid(tracks[index].stream.mid) else { continue }
            tracks[index].ssrc = packet.ssrc
            return .audio(index)
        }
        return nil
    }

    private func handleAudio(_ packet: RTPPacketView, _ track: Int, _ now: MediaInstant) throws(RTPMalformed) {
        counters.audioPackets &+= 1
        let stream = tracks[track].stream
        let blocks = packet.payloadType == stream.payloadType ? nil : try RedundantPayload(packet.payload)
        let sequence: Int64
        switch tracks[track].sequence.take(packet.sequenceNumber) {
        case .jump: return counters.drops.sequenceJump &+= 1
        case .restarted(let number):
            tracks[track].statistics.restart()
            sequence = number
        case .next(let number): sequence = number
        }
        tracks[track].statistics.note(sequence, timestamp: packet.timestamp, now: now)
        guard let blocks else {
            return tracks[track].buffer.insert(sequence, packet.payload, timestamp: packet.timestamp, now: now)
        }
        // The primary block first, as the redundant ones are placed relative to it.
        for block in blocks where block.isPrimary && block.payloadType == stream.payloadType {
            tracks[track].buffer.insert(sequence, block.bytes, timestamp: packet.timestamp, now: now)
        }
        for block in blocks where !block.isPrimary && block.payloadType == stream.payloadType {
            let timestamp = RTPTimestamp(packet.timestamp.rawValue &- UInt32(truncatingIfNeeded: block.timestampOffset))
            tracks[track].buffer.insertCopy(
                block.bytes, timestamp: timestamp, behind: sequence, by: block.timestampOffset, now: now)
        }
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

    /// By XR reports (RFC 3611), if the sender answers them; else from a NACK to the retransmission, which includes its
    /// wait in the sender's pacer. Nil before the first answer.
    public var roundTripTime: MediaDuration? { reportTime ?? (nacks.hasRoundTrip ? nacks.roundTrip : nil) }

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
