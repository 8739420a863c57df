import EventLoop
import Host
import LinuxRuntime
import MediaCore
import PeerConnection

/// The key frames that viewers of a relayed stream ask for, as one request a second at most, which is repeated until
/// one comes. Confined to the network loop.
final class KeyframeRequestAggregator {
    private let send: () -> Void
    private var timer: LoopTimer?
    private var lastSent: MediaInstant?
    private var isOpen = false

    private static let interval = MediaDuration.seconds(1)

    /// - Parameter send: requests a key frame of the publisher, once; the request may be lost or ignored.
    init(_ loop: EventLoop, send: @escaping () -> Void) {
        self.send = send
        let box = WeakBox<KeyframeRequestAggregator>()
        timer = loop.makeTimer { box.value?.fire() }
        box.value = self
    }

    func request() {
        guard !isOpen else { return }
        isOpen = true
        let now = MonotonicClock.now
        guard let lastSent, now - lastSent < Self.interval else { return fire() }
        timer?.set(lastSent + Self.interval)
    }

    func noteKeyframe() {
        isOpen = false
        timer?.set(nil)
    }

    func close() {
        timer?.close()
        timer = nil
    }

    private func fire() {
        guard isOpen, let timer else { return }
        let now = MonotonicClock.now
        lastSent = now
        timer.set(now + Self.interval)
        send()
    }
}
