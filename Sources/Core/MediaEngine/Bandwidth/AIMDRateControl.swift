import MediaCore

/// The delay-based rate of a sender: additive or multiplicative increase, multiplicative decrease (compare libwebrtc's
/// `aimd_rate_control.cc`; draft-ietf-rmcat-gcc-02 section 5.5).
struct AIMDRateControl {
    /// What an update goes by.
    struct Input {
        var now: MediaInstant
        /// Since the last update.
        var elapsed: MediaDuration
        var roundTrip: MediaDuration
        /// The standing queue delay.
        var queueDelay: MediaDuration
        var acknowledgedRate: Bitrate?
        /// The sender uses less than its estimate.
        var isApplicationLimited: Bool
    }

    /// Additive increase near the capacity, in bits/s per second. It is the same for all flows, so that their rates
    /// converge.
    private static let slope = 60_000.0
    /// Largest multiplicative decrease of `decreaseGradually`, as a share of the rate per second.
    private static let easing = 0.4
    /// The standing queue that a flow may cause, in packets of 1,200 bytes of its own.
    private static let ownQueuePackets = 4.0
    /// Shorter queue delays are measurement noise.
    static let leastQueue = MediaDuration.milliseconds(8)
    /// How long no queue may have been seen before a packet train may raise the rate.
    private static let freeAfterQueue = MediaDuration.seconds(2)
    /// The same after the path was narrower (`PathNarrowing`).
    private static let freeAfterNarrowing = MediaDuration.milliseconds(200)
    /// How long after a decrease a packet train may raise the rate again.
    private static let freeAfterDecrease = MediaDuration.seconds(8)

    let minimum: Bitrate
    /// Upper bound of the rate: five times the maximum bitrate, so that one large frame leaves quickly.
    let ceiling: Bitrate
    private let start: MediaInstant
    /// The delay-based rate.
    private(set) var rate: Bitrate
    /// The last rate that was confirmed.
    private var floor: ConfirmedRate
    /// The acknowledged bitrate when the path was last saturated.
    private var capacity: Bitrate?
    /// Since when overuse has been signalled without a break; nil if it is not.
    private var overuseSince: MediaInstant?
    private(set) var lastDecrease: MediaInstant?
    /// When a queue over `leastQueue` was last seen.
    private var lastQueue: MediaInstant?
    /// The rates of the last two packet trains.
    private var recent: (Bitrate, Bitrate)
    private var narrowing = PathNarrowing()

    init(start: Bitrate, minimum: Bitrate, maximum: Bitrate, now: MediaInstant) {
        self.minimum = min(minimum, maximum)
        ceiling = Bitrate(bitsPerSecond: maximum.bitsPerSecond &* 5)
        self.start = now
        rate = min(start, maximum)
        floor = ConfirmedRate(self.minimum, now: now)
        recent = (start, start)
    }

    /// The standing queue that is tolerated: `leastQueue` and four packets at the present rate. A flow that sends at a
    /// higher rate reaches it with a shorter delay, so it decreases first; that makes the rates of competing flows
    /// converge.
    var allowedQueue: MediaDuration {
        let own = Self.ownQueuePackets * 9_600 / Double(max(rate.bitsPerSecond, 1))
        return Self.leastQueue + .microseconds(Int(min(own, 0.05) * 1e6))
    }

    // MARK: Confirmed rates

    /// The last confirmed rate after decay.
    func currentFloor(now: MediaInstant) -> Bitrate { floor.decayed(now: now, minimum: minimum) }

    /// Losses have shown that the confirmed rate is no longer available.
    mutating func removeFloor() { floor.set(minimum) }

    /// Takes in the result of a packet train: raises the rate if the path has no queue.
    /// - Parameter isContended: a competing flow is active, so the rate is not raised.
    mutating func confirm(
        _ result: PacketTrainEstimator.Result, queueDelay: MediaDuration, isApplicationLimited: Bool, isContended: Bool,
        now: MediaInstant
    ) {
        if result.isSaturated {
            capacity = capacity.map { mix($0, result.rate, 0.3) } ?? result.rate
            narrowing.note(saturated: result.rate, queueDelay: queueDelay, now: now)
        }
        // A single train may overestimate. After the first second the least of the last three counts.
        let isEarly = now - start < .seconds(1)
        var confirmed = isEarly ? result.rate : min(result.rate, recent.0, recent.1)
        // Where the path is known to have been narrower, two are enough.
        let hasExceeded = narrowing.note(min(result.rate, recent.1), latest: result.rate, now: now)
        let isWider = hasExceeded && hasNoQueue(for: Self.freeAfterNarrowing, now)
        if isWider { confirmed = min(result.rate, recent.1) }
        recent = (recent.1, result.rate)
        if isApplicationLimited, confirmed >= floor.rate { floor.confirmAgain(now: now) }
        guard confirmed > rate, overuseSince == nil, !isContended else { return }
        // A packet train shows the capacity, not the available bandwidth. The two are taken as equal while no queue is
        // seen, and when the capacity was less before.
        guard isEarly ? queueDelay < .milliseconds(50) : isFree(now) || isWider else { return }
        if isWider { narrowing.noteIncrease(now: now) }
        // One train raises the rate at most by a factor of 2; by 3 in the first second.
        let factor = lastDecrease == nil && isEarly ? 3 : 2
        rate = min(Bitrate(bitsPerSecond: min(confirmed.bitsPerSecond, rate.bitsPerSecond &* factor)), ceiling)
        floor = ConfirmedRate(rate, now: now)
    }

    /// No queue was seen for `freeAfterQueue`, and the last decrease is `freeAfterDecrease` ago.
    private func isFree(_ now: MediaInstant) -> Bool {
        hasNoQueue(for: Self.freeAfterQueue, now)
            && (lastDecrease.map { now - $0 >= Self.freeAfterDecrease } ?? true)
    }

    private func hasNoQueue(for time: MediaDuration, _ now: MediaInstant) -> Bool {
        lastQueue.map { now - $0 >= time } ?? true
    }

    /// How long after a probe the next one may be sent.
    func probePause(now: MediaInstant) -> MediaDuration {
        guard hasNoQueue(for: Self.freeAfterNarrowing, now) else { return PathNarrowing.longestProbePause }
        return narrowing.probePause(at: rate, now: now)
    }

    // MARK: Updates

    mutating func noteQueue(_ delay: MediaDuration, now: MediaInstant) {
        if delay > Self.leastQueue { lastQueue = now }
    }

    /// Overuse is not signalled any more.
    mutating func endOveruse() { overuseSince = nil }

    /// Multiplicative decrease on overuse: to 0.85 x the acknowledged bitrate, or 0.7 x if the queue exceeds 100 ms; at
    /// most once per round trip + 100 ms or per 400 ms, whichever is shorter. An application-limited sender keeps the
    /// floor until overuse has lasted for a round trip + 100 ms.
    /// - Parameter bitrateAtQueueStart: the bitrate that got through at the beginning of the queue, while a competing
    ///   flow may have caused it.
    mutating func decrease(_ input: Input, bitrateAtQueueStart: Bitrate?) {
        let now = input.now
        let since = overuseSince ?? now
        overuseSince = since
        let pause = min(input.roundTrip + .milliseconds(100), .milliseconds(400))
        guard lastDecrease.map({ now - $0 >= pause }) ?? true else { return }
        let lasts = now - since > input.roundTrip + .milliseconds(100)
        var acknowledgedBitrate = input.acknowledgedRate ?? rate
        if input.isApplicationLimited, let capacity {
            acknowledgedBitrate = max(acknowledgedBitrate, min(capacity, rate))
        }
        let share = input.queueDelay > .milliseconds(100) ? 0.7 : 0.85
        var target = Bitrate(bitsPerSecond: Int(share * Double(acknowledgedBitrate.bitsPerSecond)))
        if input.isApplicationLimited, !lasts { target = max(target, currentFloor(now: now)) }
        // If only this flow causes the queue, 0.6 x the bitrate acknowledged when the queue began drains it, so the
        // rate need not fall further.
        if let bitrateAtQueueStart {
            target = max(target, Bitrate(bitsPerSecond: bitrateAtQueueStart.bitsPerSecond / 10 &* 6))
        }
        guard target < rate else { return }
        if !input.isApplicationLimited {
            capacity = capacity.map { mix($0, acknowledgedBitrate, 0.5) } ?? acknowledgedBitrate
        }
        narrowing.noteDecrease(from: rate, to: target, acknowledged: input.acknowledgedRate, now: now)
        rate = max(target, minimum)
        if lasts || !input.isApplicationLimited { floor.set(min(floor.rate, rate)) }
        lastDecrease = now
    }

    /// Decrease on the queue delay of a receiver report: to 0.75 x the bitrate that is sent.
    mutating func decreaseOnReport(_ input: Input, sentBitrate: Bitrate) {
        let base = input.isApplicationLimited ? rate : min(rate, sentBitrate)
        if !input.isApplicationLimited { capacity = base }
        rate = max(Bitrate(bitsPerSecond: Int(0.75 * Double(base.bitsPerSecond))), minimum)
        lastDecrease = input.now
    }

    /// Increase: by `slope` within 20 % of the capacity, else by 8 % a second if that is more. The rate grows to at
    /// most 1.5 x the acknowledged bitrate + 10 kbit/s.
    mutating func increase(_ input: Input) {
        let current = Double(rate.bitsPerSecond)
        var slope = min(Self.slope, 0.25 * current)
        let isNear = capacity.map { abs(current / Double(max($0.bitsPerSecond, 1)) - 1) < 0.2 } ?? false
        if !isNear { slope = max(slope, 0.08 * current) }
        var grown = current + slope * input.elapsed.inSeconds
        if let acknowledgedBitrate = input.acknowledgedRate {
            grown = min(grown, max(1.5 * Double(acknowledgedBitrate.bitsPerSecond) + 10_000, current))
        }
        rate = min(Bitrate(bitsPerSecond: Int(grown)), ceiling)
    }

    /// Reduces the rate a little while the standing queue exceeds the tolerated one without overuse.
    mutating func decreaseGradually(_ input: Input, allowed: MediaDuration) {
        let excess = min((input.queueDelay - allowed).inSeconds / allowed.inSeconds, 1)
        let eased = Double(rate.bitsPerSecond) * (1 - Self.easing * excess * input.elapsed.inSeconds)
        rate = max(Bitrate(bitsPerSecond: Int(eased)), minimum)
    }

    /// AIMD next to a loss-based flow, as TCP Reno: one packet more per round trip, and 20 % less after a loss, at most
    /// once per 1.5 round trips.
    mutating func updateLikeReno(_ input: Input, hasLosses: Bool) {
        overuseSince = nil
        let round = max(input.roundTrip.inSeconds, 0.05)
        if hasLosses, lastDecrease.map({ (input.now - $0).inSeconds >= 1.5 * round }) ?? true {
            rate = max(Bitrate(bitsPerSecond: rate.bitsPerSecond / 5 &* 4), minimum)
            lastDecrease = input.now
        } else if !input.isApplicationLimited, input.queueDelay < .seconds(1) {
            let step = Int(12_000 / (round * round) * input.elapsed.inSeconds)
            rate = min(Bitrate(bitsPerSecond: rate.bitsPerSecond &+ step), ceiling)
        }
    }

    /// The competing flow did not yield, so the rate that it was active at before returns, less 10 %.
    mutating func restore(_ before: Bitrate) {
        rate = max(rate, Bitrate(bitsPerSecond: before.bitsPerSecond / 10 &* 9))
    }

    /// Weighted mean; `share` is the weight of `new`.
    private func mix(_ old: Bitrate, _ new: Bitrate, _ share: Double) -> Bitrate {
        Bitrate(bitsPerSecond: Int(Double(old.bitsPerSecond) * (1 - share) + Double(new.bitsPerSecond) * share))
    }
}
