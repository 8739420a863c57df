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
    private let core: LoopBound<Broadcast>
    private weak var broadcast: RelayedBroadcast?
    private var publisher: PublisherLimit
    private var slowest = SlowestBitrateReporter()
    private var timer: LoopTimer?
    private var isLimited = false

    private static let interval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - maximum: what the publisher may send.
    ///   - core: the viewers of the broadcast.
    init(_ loop: EventLoop, maximum: Bitrate, _ core: LoopBound<Broadcast>, of broadcast: RelayedBroadcast) {
        self.core = core
        self.broadcast = broadcast
        publisher = PublisherLimit(maximum: maximum)
        let box = WeakBox<AudienceBandwidth>()
        timer = loop.makeTimer { box.value?.handleTimeout() }
        box.value = self
        timer?.set(MonotonicClock.now + Self.interval)
    }

    private func handleTimeout() {
        guard let timer, let broadcast else { return }
        let now = MonotonicClock.now
        let (behind, received, limit) = broadcast.bandwidthInput(now: now)
        let found = core.assumeIsolated { $0.audienceEstimates(behind: behind) }
        let isTooMuch = publisher.update(received: received?() ?? 0, now: now)
        let maximum = publisher.isExceeded ? publisher.maximum : nil
        let allowed = [found?.fastest, maximum].compactMap(\.self).min()
        if allowed != nil || isLimited { limit?(allowed) }
        isLimited = allowed != nil
        let streams = broadcast.streams
        if isTooMuch { streams.end(broadcast.id, "it sent more than twice the relay's limit for 10 s") }
        if slowest.update(found, now: now) { streams.report(slowest: slowest.reported, of: broadcast.id) }
        timer.set(now + Self.interval)
    }

    func close() {
        timer?.close()
        timer = nil
    }
}
