import MediaCore

/// The rate that losses allow: up 8 % a second under 2 %, down by half the loss over 10 %, at most once in 300 ms + RTT.
struct LossBasedEstimator {
    private(set) var rate: Bitrate?
    /// Of the last period that had enough packets: 0...1.
    private(set) var fraction = 0.0
    private var lost = 0
    private var total = 0
    private var periodStart: MediaInstant?
    private var lastDecrease: MediaInstant?
    /// What is lost whatever is sent, as on bad radio links: 0...0.4.
    private(set) var inherent = 0.0
    private var average = 0.0
    /// Decreases in a row, and the loss and the rate that they began with.
    private var decreases = 0
    private var firstShare = 0.0
    private var firstRate = Bitrate(bitsPerSecond: 0)

    /// One window's verdict.
    enum Verdict { case none, low, middle, high }

    mutating func note(lost: Int, received: Int) {
        self.lost = max(0, self.lost &+ lost)
        total = max(0, total &+ lost &+ received)
    }

    /// - Parameters:
    ///   - current: the estimate that a decrease starts from.
    ///   - least: what a decrease stops at: while no queue builds up, what arrives is carried for certain.
    ///   - isOurs: false if too little was sent to have caused the losses; only very many count then.
    ///   - isAnswered: a queue that ran over was seen, and less is sent already.
    ///   - hasQueue: packets wait on their way, so losses are for want of room.
    mutating func update(
        now: MediaInstant, roundTrip: MediaDuration, current: Bitrate, maximum: Bitrate, least: Bitrate?, isOurs: Bool,
        hasQueue: Bool, isAnswered: Bool
    ) -> Verdict {
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
        // A run of losses is no want of room if little was sent before it, too.
        guard isOurs ? excess > 0.1 : min(excess, average) > 0.25 else { return .middle }
        if isAnswered { return .high }
        if decreases >= 2, !hasQueue, share > 0.7 * firstShare {
            // Sending less did not help: it is not ours.
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
