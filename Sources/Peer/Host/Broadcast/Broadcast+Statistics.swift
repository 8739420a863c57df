import ICETransport
import LinuxRuntime
package import MediaCore
import MediaEngine

/// What a broadcast has sent to its viewers, for a relay.
package struct BroadcastTraffic: Sendable {
    package var viewers = 0
    package var connected = 0
    package var sent = ViewerTotals()
    /// Of forwarded video.
    package var delays = DelayHistogram()
}

extension Broadcast {
    package var traffic: BroadcastTraffic {
        var result = BroadcastTraffic(viewers: viewers.count, sent: viewers.totals(now: MonotonicClock.now))
        result.connected = viewers.all.count { $0.isConnected }
        if let video = forwarding?.media.video { result.delays = video.delays }
        return result
    }

    package func statistics(video: VideoPipelineStatistics) -> HostStatistics {
        var result = HostStatistics(video: video)
        result.viewers = viewers.count
        result.sent = viewers.totals(now: MonotonicClock.now)
        result.holds = holds
        for viewer in viewers.all where viewer.isConnected {
            result.connected += 1
            result.lowViewers += viewer.frames.encodingSelector.encoding == .low ? 1 : 0
            let layer = viewer.layer(
                isLayered: policy.decision?[viewer.frames.encodingSelector.encoding]?.layering != nil)
            result.layers.append(layer)
            result.baseViewers += layer == .base || layer == .lowBase ? 1 : 0
            result.routes.append(viewer.pathSummary)
            result.paths.add(viewer.sender)
        }
        return result
    }
}

extension PathExtremes {
    fileprivate mutating func add(_ sender: MediaSender) {
        estimate = min(estimate ?? sender.estimate, sender.estimate)
        if let time = sender.roundTripTime { roundTrip = max(roundTrip ?? time, time) }
        backlog = max(backlog ?? .zero, sender.backlog)
        fractionLost = max(fractionLost, sender.statistics.path.fractionLost)
        qualityLimitationReason = qualityLimitationReason ?? sender.limit.words
    }
}
