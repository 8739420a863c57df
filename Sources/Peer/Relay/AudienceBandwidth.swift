import EventLoop
import Host
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection

/// Has the publisher of a relayed stream send what the fastest viewer can get, as a host does for its own viewers.
/// Slower viewers get fewer layers: the publisher is also told what the base layer may need. Confined to the network
/// loop.
final class AudienceBandwidth {
    private let received: () -> Int
    private let estimates: () -> AudienceEstimates?
    private let limit: (Bitrate?) -> Void
    private let reportSlowest: (Bitrate?) -> Void
    private let exceeded: () -> Void
    private var publisher: PublisherLimit
    private var slowest = SlowestBitrateReporter()
    private var timer: LoopTimer?
    private var isLimited = false

    private static let interval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - maximum: what the publisher may send.
    ///   - received: the bytes that it has sent in its session.
    ///   - estimates: those of the viewers; nil if nobody watches.
    ///   - limit: tells the publisher what the fastest can get.
    ///   - reportSlowest: tells it what the slowest can get; nil: as much as the others.
    ///   - exceeded: ends the broadcast of a publisher that does not keep to its limit.
    init(
        _ loop: EventLoop, maximum: Bitrate, received: @escaping () -> Int,
        estimates: @escaping () -> AudienceEstimates?, limit: @escaping (Bitrate?) -> Void,
        reportSlowest: @escaping (Bitrate?) -> Void, exceeded: @escaping () -> Void
    ) {
        self.received = received
        self.exceeded = exceeded
        publisher = PublisherLimit(maximum: maximum)
        self.estimates = estimates
        self.limit = limit
        self.reportSlowest = reportSlowest
        let box = WeakBox<AudienceBandwidth>()
        timer = loop.makeTimer { box.value?.handleTimeout() }
        box.value = self
        timer?.set(MonotonicClock.now + Self.interval)
    }

    private func handleTimeout() {
        guard let timer else { return }
        let now = MonotonicClock.now
        let found = estimates()
        let isTooMuch = publisher.update(received: received(), now: now)
        let maximum = publisher.isExceeded ? publisher.maximum : nil
        let allowed = [found?.fastest, maximum].compactMap(\.self).min()
        if allowed != nil || isLimited { limit(allowed) }
        isLimited = allowed != nil
        if isTooMuch { exceeded() }
        if slowest.update(found, now: now) { reportSlowest(slowest.reported) }
        timer.set(now + Self.interval)
    }

    func close() {
        timer?.close()
        timer = nil
    }
}
