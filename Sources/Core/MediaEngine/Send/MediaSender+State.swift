public import MediaCore
import RTPWire

extension MediaSender {
    // MARK: Frames

    /// The number of frames whose last packet was sent.
    public var framesSent: Int { video.framesSent }

    /// A base layer frame was refused, and no key frame has followed yet. The receiver cannot detect that one is
    /// missing.
    public var hasGap: Bool { keyframeRequests.hasGap }

    /// Packets of frames wait for the pacer.
    public var hasFramesWaiting: Bool { !video.history.isEmpty }

    /// Long-term references were negotiated.
    public var hasReferences: Bool { parameters.extensions[.frameReferences] != nil }

    /// The receiver has acknowledged a frame.
    public var hasAcknowledged: Bool { keyframeRequests.hasAcknowledged }

    /// The newest long-term reference is not acknowledged yet, so none should be overwritten.
    public func awaitsAcknowledgement(now: MediaInstant) -> Bool {
        hasReferences && keyframeRequests.awaitsAcknowledgement(now: now)
    }

    // MARK: Bandwidth

    /// The bandwidth estimate for all media.
    public var estimate: Bitrate { bandwidth.estimate }

    /// The bitrate for video frames: 97 % of the estimate (the rest is headers) after audio and retransmissions, which
    /// are counted up to half of the estimate.
    public func videoEstimate(now: MediaInstant) -> Bitrate {
        let other = retransmitter.sending(now: now).bitsPerSecond &+ egress.sendingAudio(now: now).bitsPerSecond
        let side = min(other, estimate.bitsPerSecond / 2)
        return Bitrate(bitsPerSecond: (estimate.bitsPerSecond &- side) / 100 &* 97)
    }

    /// The bitrate for all audio: a third of the estimate.
    public var audioEstimate: Bitrate { Bitrate(bitsPerSecond: estimate.bitsPerSecond / 3) }

    /// From receiver reports, else from transport-wide feedback; nil until the receiver has answered.
    public var roundTripTime: MediaDuration? { roundTripTimes.time }

    /// The round trip time; 100 ms before it is known.
    var roundTrip: MediaDuration { roundTripTimes.time ?? .milliseconds(100) }

    var path: PathConditions {
        PathConditions(estimate: bandwidth.estimate, queueDelay: bandwidth.queueDelay, roundTrip: roundTrip)
    }

    /// How long the video packets and retransmissions that wait need at the pacing rate. Over about 40 ms no new frame
    /// should be made.
    public var backlog: MediaDuration { egress.pacer.rate.duration(ofBytes: backlogBytes) }

    private var backlogBytes: Int {
        video.history.waitingBytes &+ retransmitter.waitingCount &* parameters.maximumPacketSize
    }

    /// What limits the bitrate at present.
    public var limit: QualityLimitationReason {
        if bandwidth.isLimitedByLoss, !bandwidth.isAtMaximum { return .loss }
        if egress.stall.isStalled || backlog > .milliseconds(40) { return .bandwidth }
        let isFull = bandwidth.hasFeedback && !bandwidth.isAtMaximum && !bandwidth.isApplicationLimited
        return isFull ? .bandwidth : .nothing
    }

    // MARK: Statistics

    public var statistics: SenderStatistics {
        var result = counters
        result.packetsSent = egress.packets
        result.bytesSent = egress.bytes
        result.stalls = egress.stall.count
        result.retransmissions = retransmitter.packets
        result.retransmittedBytes = retransmitter.bytes
        result.nacks = retransmitter.nacks
        result.nackedPackets = retransmitter.nackedPackets
        result.nacksIgnored = retransmitter.nacksIgnored
        result.unrequestedDuplicates = redundancy.duplicates
        result.skipFrames = video.skipFrames
        result.reports = rtcp.reports
        result.keyframeRequests = keyframeRequests.requests
        result.recoveryRequests = keyframeRequests.recoveryRequests
        result.audioDropped &+= tracks.reduce(0) { $0 &+ $1.dropped }
        result.backlogBytes = backlogBytes
        result.backlog = backlog
        result.isAudioRedundant =
            !tracks.isEmpty && tracks.allSatisfy { $0.stream.redundantPayloadType != nil }
        result.queueDelay = bandwidth.queueDelay
        result.acknowledgedRate = bandwidth.acknowledgedRate
        return result
    }
}
