import MediaCore

/// The rate that losses allow: up 8 % a second under 2 %, down by half the loss over 10 %, at most once in 300 ms + RTT.
struct LossLimit {
    private(set) var rate: Bitrate?
    /// Of the last period that had enough packets: 0...1.
    private(set) var fraction = 0.0
    private var lost = 0
    private var total = 0
    private var periodStart: MediaInstant?
    private var lastDecrease: MediaInstant?

    /// One window's verdict.
    enum Verdict { case none, low, middle, high }

    mutating func note(lost: Int, received: Int) {
        self.lost = max(0, self.lost &+ lost)
        total = max(0, total &+ lost &+ received)
    }

    /// - Parameter current: the estimate that a decrease starts from.
    mutating func update(now: MediaInstant, roundTrip: MediaDuration, current: Bitrate, maximum: Bitrate) -> Verdict {
        let start = periodStart ?? now
        periodStart = start
        let elapsed = now - start
        // A single packet lost out of three is no 33 %.
        guard total >= 50 && elapsed >= .milliseconds(200) || total >= 20 && elapsed >= .seconds(1) else {
            if elapsed > .seconds(5) { restart(now) }
            return .none
        }
        let share = Double(lost) / Double(total)
        fraction = share
        restart(now)
        if share < 0.02 {
            if let rate {
                let grown = Double(rate.bitsPerSecond) * (1 + 0.08 * min(elapsed.inSeconds, 1))
                self.rate = grown >= Double(maximum.bitsPerSecond) ? nil : Bitrate(bitsPerSecond: Int(grown) &+ 1_000)
            }
            return .low
        }
        guard share > 0.1 else { return .middle }
        if lastDecrease.map({ now - $0 >= .milliseconds(300) + roundTrip }) ?? true {
            let base = min(current, rate ?? current)
            rate = Bitrate(bitsPerSecond: Int(Double(base.bitsPerSecond) * (1 - 0.5 * share)))
            lastDecrease = now
        }
        return .high
    }

    /// From a receiver report, for peers without transport-wide feedback.
    mutating func noteReport(fraction: Double, packets: Int) {
        let packets = min(max(packets, 0), 10_000)
        let lost = Int((Double(packets) * fraction).rounded())
        note(lost: lost, received: packets &- lost)
    }

    /// Another estimator has confirmed more.
    mutating func raise(to confirmed: Bitrate) {
        if let rate, rate < confirmed { self.rate = confirmed }
    }

    private mutating func restart(_ now: MediaInstant) {
        lost = 0
        total = 0
        periodStart = now
    }
}
