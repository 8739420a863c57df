import ICETransport
import LinuxRuntime
package import MediaCore
import MediaEngine

/// What a broadcast has sent to its viewers, for a relay. A flat record.
package struct BroadcastTraffic: Sendable {
    package var viewers = 0
    package var connected = 0
    package var packets = 0
    package var bytes = 0
    package var retransmissions = 0
    package var keyframeRequests = 0
    package var badPackets = 0
    /// Of forwarded video.
    package var delays = DelayHistogram()
}

extension Broadcast {
    package var traffic: BroadcastTraffic {
        let now = MonotonicClock.now
        var totals = viewers.past
        var result = BroadcastTraffic()
        for viewer in viewers.all {
            totals.add(viewer, now: now)
            result.connected += viewer.isConnected ? 1 : 0
        }
        result.viewers = viewers.count
        result.packets = totals.packets
        result.bytes = totals.bytes
        result.retransmissions = totals.retransmissions
        result.keyframeRequests = totals.keyframeRequests
        result.badPackets = totals.badPackets
        if let video = forwarding?.media.video { result.delays = video.delays }
        return result
    }

    package func statistics(video: VideoPipelineStatistics) -> HostStatistics {
        let now = MonotonicClock.now
        var totals = viewers.past
        for viewer in viewers.all { totals.add(viewer, now: now) }
        var result = HostStatistics(video: video)
        result.viewers = viewers.count
        result.packetsSent = totals.packets
        result.bytesSent = totals.bytes
        result.retransmissions = totals.retransmissions
        result.freezes = totals.freezes
        result.freezeTime = totals.freezeTime
        result.keyframeRequests = totals.keyframeRequests
        result.badPackets = totals.badPackets
        result.isPaused = isPaused
        for viewer in viewers.all where viewer.isConnected {
            result.connected += 1
            result.lowViewers += viewer.frames.encodingSelector.encoding == .low ? 1 : 0
            let layer = viewer.layer(
                isLayered: policy.decision?[viewer.frames.encodingSelector.encoding]?.layering != nil)
            result.layers.append(layer)
            result.baseViewers += layer == .base || layer == .lowBase ? 1 : 0
            result.estimate = min(result.estimate ?? viewer.estimate, viewer.estimate)
            if let time = viewer.roundTripTime { result.roundTrip = max(result.roundTrip ?? time, time) }
            result.backlog = max(result.backlog ?? .zero, viewer.backlog)
            result.fractionLost = max(result.fractionLost, viewer.statistics.path.fractionLost)
            result.paths.append(viewer.pathSummary)
            result.qualityLimitationReason = result.qualityLimitationReason ?? viewer.qualityLimitationReason
        }
        return result
    }
}
