import MediaCore

extension SenderState {
    var statistics: SenderStatistics {
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
