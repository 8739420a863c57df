import EventLoop
import LinuxRuntime
import MediaCore
import Publishing
import Transport

/// Has the publisher of a relayed stream send what the fastest viewer can get, as a host does for its own viewers.
/// Slower viewers get fewer layers. Confined to the network loop.
final class AudienceBandwidth {
    private let fastest: () -> Bitrate?
    private let limit: (Bitrate?) -> Void
    private var timer: LoopTimer?
    private var isLimited = false

    private static let interval = MediaDuration.milliseconds(250)

    /// - Parameters:
    ///   - fastest: the highest estimate of a viewer; nil if nobody watches.
    ///   - limit: tells the publisher.
    init(_ loop: EventLoop, fastest: @escaping () -> Bitrate?, limit: @escaping (Bitrate?) -> Void) {
        self.fastest = fastest
        self.limit = limit
        let box = WeakBox<AudienceBandwidth>()
        timer = loop.makeTimer { box.value?.look() }
        box.value = self
        timer?.set(MonotonicClock.now + Self.interval)
    }

    private func look() {
        guard let timer else { return }
        let rate = fastest()
        if rate != nil || isLimited { limit(rate) }
        isLimited = rate != nil
        timer.set(MonotonicClock.now + Self.interval)
    }

    func close() {
        timer?.close()
        timer = nil
    }
}
