import MediaCore

extension SenderState {
    var statistics: SenderStatistics {
        var result = counters
        result.packetsSent = egress.packets
        result.bytesSent = egress.bytes
        result.path.stalls = egress.stall.count
        result.retransmission.packets = retransmitter.packets
        result.retransmission.bytes = retransmitter.bytes
        result.retransmission.nacks = retransmitter.nacks
        result.retransmission.nackedPackets = retransmitter.nackedPackets
        result.retransmission.nacksIgnored = retransmitter.nacksIgnored
        result.retransmission.unrequestedDuplicates = redundancy.duplicates
        result.video.skipFrames = video.skipFrames
        result.rtcp.reports = rtcp.reports
        result.video.keyframeRequests = keyframeRequests.requests
        result.video.recoveryRequests = keyframeRequests.recoveryRequests
        result.audioDropped &+= tracks.reduce(0) { $0 &+ $1.dropped }
        result.path.backlogBytes = backlogBytes
        result.path.backlog = backlog
        result.isAudioRedundant =
            !tracks.isEmpty && tracks.allSatisfy { $0.stream.redundantPayloadType != nil }
        result.path.queueDelay = bandwidth.queueDelay
        result.path.acknowledgedRate = bandwidth.acknowledgedRate
        return result
    }
}
