import MediaCore

/// A leaky bucket: what was sent is a debt that drains at the pacing rate.
///
/// As long as the debt is below `burst` the next packet may leave at once, so a frame that the rate can carry within 40 ms
/// is not held at all; what exceeds it leaves in steps of 5 ms.
struct Pacer {
    static let burst = MediaDuration.milliseconds(40)
    static let step = MediaDuration.milliseconds(5)

    private(set) var rate: Bitrate
    private var debt = 0.0
    private var updated: MediaInstant

    init(rate: Bitrate, now: MediaInstant) {
        self.rate = rate
        updated = now
    }

    mutating func setRate(_ rate: Bitrate, now: MediaInstant) {
        drain(now)
        self.rate = rate
    }

    mutating func note(bytes: Int, now: MediaInstant) {
        drain(now)
        debt += Double(bytes)
    }

    mutating func maySend(now: MediaInstant) -> Bool {
        drain(now)
        return debt < bytes(in: Self.burst)
    }

    /// When a step's worth may leave again.
    func nextSend(now: MediaInstant) -> MediaInstant {
        let excess = debt - bytes(in: Self.burst - Self.step)
        guard excess > 0 else { return now }
        return updated + rate.duration(ofBytes: Int(excess) + 1)
    }

    private func bytes(in duration: MediaDuration) -> Double {
        Double(rate.bitsPerSecond) / 8 * duration.inSeconds
    }

    private mutating func drain(_ now: MediaInstant) {
        guard now > updated else { return }
        debt = max(0, debt - bytes(in: now - updated))
        updated = now
    }
}
