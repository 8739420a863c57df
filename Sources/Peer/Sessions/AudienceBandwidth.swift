import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import Publishing
import Transport

/// Has the publisher of a relayed stream send what the fastest viewer can get, as a host does for its own viewers.
/// Slower viewers get fewer layers: the publisher is also told what the base layer may need. Confined to the network
/// loop.
final class AudienceBandwidth {
    private let estimates: () -> AudienceEstimates?
    private let limit: (Bitrate?) -> Void
    private let reportSlowest: (Bitrate?) -> Void
    private var slowest = SlowestBitrateReporter()
    private var timer: LoopTimer?
    private var isLimited = false

    private static let interval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - estimates: those of the viewers; nil if nobody watches.
    ///   - limit: tells the publisher what the fastest can get.
    ///   - reportSlowest: tells it what the slowest can get; nil: as much as the others.
    init(
        _ loop: EventLoop, estimates: @escaping () -> AudienceEstimates?, limit: @escaping (Bitrate?) -> Void,
        reportSlowest: @escaping (Bitrate?) -> Void
    ) {
        self.estimates = estimates
        self.limit = limit
        self.reportSlowest = reportSlowest
        let box = WeakBox<AudienceBandwidth>()
        timer = loop.makeTimer { box.value?.look() }
        box.value = self
        timer?.set(MonotonicClock.now + Self.interval)
    }

    private func look() {
        guard let timer else { return }
        let now = MonotonicClock.now
        let found = estimates()
        if found != nil || isLimited { limit(found?.fastest) }
        isLimited = found != nil
        if slowest.update(found, now: now) { reportSlowest(slowest.reported) }
        timer.set(now + Self.interval)
    }

    func close() {
        timer?.close()
        timer = nil
    }
}
