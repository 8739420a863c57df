import MediaCore
import RTPWire

extension SenderState {
    /// Long-term references were negotiated.
    var hasReferences: Bool { parameters.extensions[.frameReferences] != nil }

    mutating func videoEstimate(now: MediaInstant) -> Bitrate {
        let other = retransmitter.sentBitrate(now: now).bitsPerSecond &+ egress.sentAudioBitrate(now: now).bitsPerSecond
        let side = min(other, bandwidth.estimate.bitsPerSecond / 2)
        return Bitrate(bitsPerSecond: (bandwidth.estimate.bitsPerSecond &- side) / 100 &* 97)
    }

    /// The round trip time; 100 ms before it is known.
    var roundTrip: MediaDuration { roundTripTimes.time ?? .milliseconds(100) }

    var path: PathConditions {
        PathConditions(estimate: bandwidth.estimate, queueDelay: bandwidth.queueDelay, roundTrip: roundTrip)
    }

    var backlog: MediaDuration { egress.pacer.rate.duration(ofBytes: backlogBytes) }

    var backlogBytes: Int {
        video.history.waitingBytes &+ retransmitter.waitingCount &* parameters.maximumPacketSize
    }

    var limit: QualityLimitationReason {
        if bandwidth.isLimitedByLoss, !bandwidth.isAtMaximum { return .loss }
        if egress.stall.isStalled || backlog > .milliseconds(40) { return .bandwidth }
        let isFull = bandwidth.hasFeedback && !bandwidth.isAtMaximum && !bandwidth.isApplicationLimited
        return isFull ? .bandwidth : .nothing
    }
}
