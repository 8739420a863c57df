import MediaCore

/// The loss-based part of Google Congestion Control (draft-ietf-rmcat-gcc-02 section 6): the rate grows by 8 % a second
/// below 2 % of loss, and falls by half of the loss share over 10 %, at most once per 300 ms + round trip.
///
/// Differs in that losses which do not go away when less is sent (`inherent`) no longer count, and in that a decrease
/// stops at the acknowledged bitrate while no queue builds up.
struct LossBasedEstimator {
    /// The loss-based limit; nil for none.
    private(set) var rate: Bitrate?
    /// The loss share of the last period with enough packets, 0...1.
    private(set) var fraction = 0.0
    private var lost = 0
    private var total = 0
    private var periodStart: MediaInstant?
    private var lastDecrease: MediaInstant?
    /// The loss share that does not depend on the rate, as on poor radio links, 0...0.4.
    private(set) var inherent = 0.0
    private var average = 0.0
    /// The number of consecutive decreases, and the loss share and rate before the first of them.
    private var decreases = 0
    private var firstShare = 0.0
    private var firstRate = Bitrate(bitsPerSecond: 0)

    /// What one period showed: too few packets, less than 2 % of loss, between, or more than 10 %.
    enum Verdict { case none, low, middle, high }

    mutating func note(lost: Int, received: Int) {
        self.lost = max(0, self.lost &+ lost)
        total = max(0, total &+ lost &+ received)
    }

    /// Updates the limit at the end of a period: 200 ms and 50 packets, or 1 s and 20 packets.
    /// - Parameters:
    ///   - current: the estimate that a decrease starts from.
    ///   - least: the lower bound of a decrease, the acknowledged bitrate while no queue builds up; nil for none.
    ///   - isOurs: false if too little was sent to have caused the losses; then only a loss of more than 25 % counts.
    ///   - hasQueue: packets queue on the path, so the losses are due to congestion.
    ///   - isAnswered: the delay-based rate has been reduced within the last second already.
    mutating func update(
        now: MediaInstant, roundTrip: MediaDuration, current: Bitrate, maximum: Bitrate, least: Bitrate?, isOurs: Bool,
        hasQueue: Bool, isAnswered: Bool
    ) -> Verdict {
        let start = periodStart ?? now
        periodStart = start
        let elapsed = now - start
        // With fewer packets the loss fraction is not reliable.
        guard total >= 50 && elapsed >= .milliseconds(200) || total >= 20 && elapsed >= .seconds(1) else {
            if elapsed > .seconds(5) { restart(now) }
            return .none
        }
        let share = Double(lost) / Double(total)
        fraction = share
        restart(now)
        average = 0.8 * average + 0.2 * share
        inherent = hasQueue ? 0 : min(inherent, average)
        let excess = share - inherent
        if excess < 0.02 {
            decreases = 0
            if let rate {
                let grown = Double(rate.bitsPerSecond) * (1 + 0.08 * min(elapsed.inSeconds, 1))
                self.rate = grown >= Double(maximum.bitsPerSecond) ? nil : Bitrate(bitsPerSecond: Int(grown) &+ 1_000)
            }
            return .low
        }
        // An application-limited sender takes a burst of losses as congestion only if the average is high, too.
        guard isOurs ? excess > 0.1 : min(excess, average) > 0.25 else { return .middle }
        if isAnswered { return .high }
        if decreases >= 2, !hasQueue, share > 0.7 * firstShare {
            // Two decreases left more than 70 % of the loss, so it does not depend on our rate.
            inherent = min(share, 0.4)
            average = inherent
            rate = firstRate
            decreases = 0
            return .middle
        }
        if lastDecrease.map({ now - $0 >= .milliseconds(300) + roundTrip }) ?? true {
            let base = min(current, rate ?? current)
            if decreases == 0 {
                firstShare = share
                firstRate = base
            }
            decreases += 1
            let target = Bitrate(bitsPerSecond: Int(Double(base.bitsPerSecond) * (1 - 0.5 * share)))
            rate = min(max(target, least ?? target), base)
            lastDecrease = now
        }
        return .high
    }

    /// Takes in the fraction lost of a receiver report, for peers without transport-wide feedback.
    mutating func noteReport(fraction: Double, packets: Int) {
        let packets = min(max(packets, 0), 10_000)
        let lost = Int((Double(packets) * fraction).rounded())
        note(lost: lost, received: packets &- lost)
    }

    /// Raises the limit to a rate that another estimator has confirmed.
    mutating func raise(to confirmed: Bitrate) {
        if let rate, rate < confirmed { self.rate = confirmed }
    }

    private mutating func restart(_ now: MediaInstant) {
        lost = 0
        total = 0
        periodStart = now
    }
}
