import MediaCore

/// The last rate that a packet train or a probe confirmed. It decays with a half-life of 60 s.
struct ConfirmedRate {
    private(set) var rate: Bitrate
    private var since: MediaInstant

    init(_ rate: Bitrate, now: MediaInstant) {
        self.rate = rate
        since = now
    }

    /// The half-life begins anew.
    mutating func confirmAgain(now: MediaInstant) { since = now }

    /// Changes the rate, but not since when it decays.
    mutating func set(_ rate: Bitrate) { self.rate = rate }

    /// The rate after decay.
    func decayed(now: MediaInstant, minimum: Bitrate) -> Bitrate {
        let halves = min(max((now - since).inSeconds, 0) / 60, 30)
        var value = Double(rate.bitsPerSecond)
        var whole = Int(halves)
        while whole > 0 {
            value /= 2
            whole -= 1
        }
        value *= 1 - 0.5 * (halves - Double(Int(halves)))
        return max(Bitrate(bitsPerSecond: Int(value)), minimum)
    }
}
