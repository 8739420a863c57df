import MediaCore

/// Estimates the bandwidth for one sender from transport-wide feedback, or from receiver reports and REMB.
///
/// Adapts Google Congestion Control (draft-ietf-rmcat-gcc-02, sections 5 and 6) to a screen, which is
/// application-limited most of the time:
/// - The last rate that a packet train or a probe confirmed stays as a floor (half-life 60 s). Overuse for longer than
///   a round trip + 100 ms lowers it, and losses over 10 % remove it.
/// - Growth near the capacity is additive with the same slope for all flows, and the tolerated queue is counted in
///   packets of the flow, so that competing flows converge to equal rates.
/// - Next to a loss-based flow (`CompetingFlowDetector`) the rate follows AIMD as TCP's does instead of the delay.
struct BandwidthEstimator {
    private let minimum: Bitrate
    private let maximum: Bitrate
    /// Upper bound of the delay-based rate: five times the maximum bitrate, so that one large frame leaves quickly.
    private let ceiling: Bitrate
    private let start: MediaInstant
    /// Additive increase near the capacity, in bits/s per second. It is the same for all flows, so that their rates
    /// converge.
    private static let slope = 60_000.0
    /// Largest multiplicative decrease of `ease`, as a share of the rate per second.
    private static let easing = 0.4
    /// The standing queue that a flow may cause, in packets of 1,200 bytes of its own.
    private static let ownQueuePackets = 4.0
    /// The sender is application-limited while it sends less than this share of the estimate.
    private static let applicationLimitedShare = 0.65
    /// Shorter queue delays are measurement noise.
    private static let leastQueue = MediaDuration.milliseconds(8)
    /// How long no queue may have been seen before a packet train may raise the rate.
    private static let freeAfterQueue = MediaDuration.seconds(2)
    /// How long after a decrease a packet train may raise the rate again.
    private static let freeAfterDecrease = MediaDuration.seconds(8)
    /// After so long with a standing queue `drain` sends less for a second.
    private static let longestWithoutEmpty = MediaDuration.seconds(15)
    private var trend = TrendlineEstimator()
    private var queue = QueueDelayEstimator()
    private var acknowledged = AcknowledgedBitrateEstimator()
    private var bursts = PacketTrainEstimator()
    private(set) var loss = LossBasedEstimator()
    private var competingFlow = CompetingFlowDetector()
    /// The delay-based rate when a competing flow was last active.
    private var competingRate: (rate: Bitrate, at: MediaInstant)?
    /// The last one-way delay, with the offset of the clocks.
    private var lastOneWayDelay: MediaDuration?
    /// Send time of the last video packet that arrived.
    private var lastVideoSent: MediaInstant?
    private var hasLosses = false
    /// When a queue over `leastQueue` was last seen.
    private var lastQueue: MediaInstant?
    private var lastEmpty: MediaInstant?
    /// Until when `drain` sends less.
    private var drainUntil: MediaInstant?
    /// The delay-based rate.
    private var delayRate: Bitrate
    /// The last confirmed rate, and since when it decays.
    private var floor: Bitrate
    private var floorSince: MediaInstant
    /// The acknowledged bitrate when the path was last saturated.
    private var capacity: Bitrate?
    /// Since when overuse has been signalled without a break; nil if it is not.
    private var overuseSince: MediaInstant?
    private var lastDecrease: MediaInstant?
    private var lastUpdate: MediaInstant?
    /// The limit that the receiver signals by REMB, while it keeps signalling.
    private var receiver = ReceiverBandwidthLimit()
    /// The bandwidth estimate for all media of the session: `pathRate`, at most the maximum bitrate.
    private(set) var estimate: Bitrate
    /// The bandwidth estimate of the path, not limited to the maximum bitrate.
    private(set) var pathRate: Bitrate
    /// The sender uses less than `applicationLimitedShare` of the estimate.
    private(set) var isApplicationLimited = true
    private(set) var hasFeedback = false
    /// The rates of the last two packet trains.
    private var recent: (Bitrate, Bitrate)

    init(start: Bitrate, minimum: Bitrate, maximum: Bitrate, now: MediaInstant) {
        self.minimum = min(minimum, maximum)
        self.maximum = maximum
        ceiling = Bitrate(bitsPerSecond: maximum.bitsPerSecond &* 5)
        self.start = now
        delayRate = min(start, maximum)
        estimate = delayRate
        pathRate = delayRate
        floor = self.minimum
        floorSince = now
        recent = (start, start)
    }

    /// The standing queue delay of the path.
    var queueDelay: MediaDuration { queue.standing }
    var acknowledgedRate: Bitrate? { acknowledged.rate }

    /// The estimate is within 5 % of the maximum bitrate, so a probe would gain nothing.
    var isAtMaximum: Bool { estimate.bitsPerSecond >= maximum.bitsPerSecond / 100 * 95 }

    var isLimitedByLoss: Bool { loss.rate.map { $0 <= delayRate } ?? false }

    // MARK: Transport-wide feedback

    /// Takes in one received packet, in the order of sending.
    /// - Parameter arrival: on the receiver's clock; any epoch.
    mutating func noteArrival(bytes: Int, sent: MediaInstant, arrival: MediaInstant, isAudio: Bool, now: MediaInstant) {
        noteClock(sent, arrival)
        // Audio packets that queue behind a burst of video would look like a delay trend. They are used only while no
        // video was sent for 2 s.
        if isAudio {
            if lastVideoSent.map({ sent - $0 > .seconds(2) }) ?? true { trend.note(sent: sent, arrival: arrival) }
        } else {
            lastVideoSent = sent
            trend.note(sent: sent, arrival: arrival)
        }
        queue.note(sent: sent, arrival: arrival)
        acknowledged.note(bytes: bytes, at: arrival)
        if let result = bursts.note(bytes: bytes, sent: sent, arrival: arrival) { confirm(result, now) }
    }

    /// Resets the delay estimators after a step of more than 1 s in the one-way delay: the receiver's clock was set, or
    /// the path stalled.
    private mutating func noteClock(_ sent: MediaInstant, _ arrival: MediaInstant) {
        let oneWayDelay = arrival - sent
        defer { lastOneWayDelay = oneWayDelay }
        guard let lastOneWayDelay, abs(Double((oneWayDelay - lastOneWayDelay).nanoseconds)) > 1e9 else { return }
        trend = TrendlineEstimator()
        queue = QueueDelayEstimator()
        acknowledged = AcknowledgedBitrateEstimator()
        bursts = PacketTrainEstimator()
        competingFlow.reset()
        overuseSince = nil
    }

    /// Counts packets whose feedback was lost as received.
    mutating func noteUnreported(bytes: Int, arrival: MediaInstant) { acknowledged.note(bytes: bytes, at: arrival) }

    /// Takes in how many packets a feedback message reported as lost and as received.
    mutating func noteStatuses(lost: Int, received: Int) {
        loss.note(lost: lost, received: received)
        if lost > 0 { hasLosses = true }
    }

    /// Updates the estimate after all packets of one feedback message were taken in.
    /// - Parameter sending: the bitrate sent over the last second.
    mutating func finishFeedback(now: MediaInstant, roundTrip: MediaDuration, sending: Bitrate) {
        hasFeedback = true
        queue.finishBatch()
        if let result = bursts.takeResult() { confirm(result, now) }
        let lastUpdateBefore = lastUpdate
        let elapsed = begin(now, sending)
        let allowed = allowedQueue
        if queue.standing > Self.leastQueue { lastQueue = now }
        competingFlow.update(
            now: now, elapsed: elapsed, queue: queue.standing, sending: sending,
            arriving: acknowledged.rate ?? delayRate, hasLosses: hasLosses, isAtMinimum: delayRate <= minimum)
        drain(now)
        if competingFlow.isActive {
            if let before = competingRate, now - before.at < .seconds(10), before.at != lastUpdateBefore {
                // The last decrease was a trial whether the competing flow yields too. It did not, so the former rate
                // returns, less 10 %.
                delayRate = max(delayRate, Bitrate(bitsPerSecond: before.rate.bitsPerSecond / 10 &* 9))
            }
            competingRate = (delayRate, now)
            overuseSince = nil
            contend(now, elapsed, roundTrip)
        } else if (trend.signal == .overuse && queue.standing > max(allowed, .milliseconds(15)))
            || queue.standing > .milliseconds(90)
        {
            decrease(now, roundTrip)
        } else {
            overuseSince = nil
            if queue.standing > allowed {
                if !isApplicationLimited { ease(elapsed, allowed) }
            } else if trend.signal == .normal, !isApplicationLimited {
                increase(elapsed, roundTrip)
            }
        }
        hasLosses = false
        settle(now, roundTrip)
    }

    // MARK: Receiver reports and REMB

    /// Updates the estimate from a receiver report (about one a second), for peers without transport-wide feedback. It
    /// uses the fraction lost, and the round trip time above its minimum as queue delay.
    /// - Parameter sample: the round trip time measured by this report; nil if it had no LSR.
    mutating func noteReport(
        fraction: Double, packets: Int, sample: MediaDuration?, now: MediaInstant, roundTrip: MediaDuration,
        sending: Bitrate
    ) {
        hasFeedback = true
        loss.noteReport(fraction: fraction, packets: packets)
        if let sample {
            queue.note(sent: now, arrival: now + sample)
            queue.finishBatch()
        }
        let elapsed = begin(now, sending)
        if queue.standing > .milliseconds(70) {
            let base = isApplicationLimited ? delayRate : min(delayRate, sending)
            if !isApplicationLimited { capacity = base }
            delayRate = max(Bitrate(bitsPerSecond: Int(0.75 * Double(base.bitsPerSecond))), minimum)
            lastDecrease = now
        } else if fraction < 0.02, !isApplicationLimited, queue.standing < .milliseconds(30),
            receiver.limit(now: now).map({ delayRate.bitsPerSecond / 3 < $0.bitsPerSecond / 2 }) ?? true
        {
            increase(elapsed, roundTrip)
        }
        settle(now, roundTrip)
    }

    /// Takes in the receiver's own estimate (REMB, draft-alvestrand-rmcat-remb-03).
    mutating func noteReported(_ bitrate: Bitrate, now: MediaInstant, roundTrip: MediaDuration, sending: Bitrate) {
        let isUsed = Double(sending.bitsPerSecond) >= Self.applicationLimitedShare * Double(estimate.bitsPerSecond)
        receiver.note(
            bitrate, sending: sending, isUsed: isUsed,
            hasTrouble: queue.standing > .milliseconds(30) || isLimitedByLoss, now: now)
        hasFeedback = true
        settle(now, roundTrip)
    }

    // MARK: Parts of an update

    /// Begins an update and decides whether the sender is application-limited.
    /// - Returns: the time since the last update, at most 1 s.
    private mutating func begin(_ now: MediaInstant, _ sending: Bitrate) -> MediaDuration {
        defer { lastUpdate = now }
        receiver.note(sending: sending, now: now)
        // The rate that a still screen does not use says nothing about the capacity.
        isApplicationLimited =
            Double(sending.bitsPerSecond) < Self.applicationLimitedShare * Double(estimate.bitsPerSecond)
        return lastUpdate.map { min(now - $0, .seconds(1)) } ?? .zero
    }

    /// Takes in the result of a packet train: raises the rate if the path has no queue.
    private mutating func confirm(_ result: PacketTrainEstimator.Result, _ now: MediaInstant) {
        if result.isSaturated { capacity = capacity.map { mix($0, result.rate, 0.3) } ?? result.rate }
        // A single train may overestimate. After the first second the least of the last three counts.
        let isEarly = now - start < .seconds(1)
        let rate = isEarly ? result.rate : min(result.rate, recent.0, recent.1)
        recent = (recent.1, result.rate)
        // The floor was confirmed again, so its half-life begins anew.
        if isApplicationLimited, rate >= floor { floorSince = now }
        guard rate > delayRate, overuseSince == nil, !competingFlow.isActive else { return }
        // A packet train shows the capacity, not the available bandwidth. The two are taken as equal while no queue is
        // seen.
        guard isEarly ? queue.standing < .milliseconds(50) : isFree(now) else { return }
        // One train raises the rate at most by a factor of 2; by 3 in the first second.
        let factor = lastDecrease == nil && isEarly ? 3 : 2
        delayRate = min(
            Bitrate(bitsPerSecond: min(rate.bitsPerSecond, delayRate.bitsPerSecond &* factor)), ceiling)
        floor = delayRate
        floorSince = now
    }

    /// No queue was seen for `freeAfterQueue`, and the last decrease is `freeAfterDecrease` ago.
    private func isFree(_ now: MediaInstant) -> Bool {
        (lastQueue.map { now - $0 >= Self.freeAfterQueue } ?? true)
            && (lastDecrease.map { now - $0 >= Self.freeAfterDecrease } ?? true)
    }

    /// The standing queue that is tolerated: `leastQueue` and four packets at the present rate. A flow that sends at a
    /// higher rate reaches it with a shorter delay, so it decreases first; that makes the rates of competing flows
    /// converge.
    private var allowedQueue: MediaDuration {
        let own = Self.ownQueuePackets * 9_600 / Double(max(delayRate.bitsPerSecond, 1))
        return Self.leastQueue + .microseconds(Int(min(own, 0.05) * 1e6))
    }

    /// Multiplicative decrease on overuse (draft-ietf-rmcat-gcc-02 section 5.5): to 0.85 x the acknowledged bitrate, or
    /// 0.7 x if the queue exceeds 100 ms; at most once per round trip + 100 ms or per 400 ms, whichever is shorter. An
    /// application-limited sender keeps the floor until overuse has lasted for a round trip + 100 ms.
    private mutating func decrease(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let since = overuseSince ?? now
        overuseSince = since
        let pause = min(roundTrip + .milliseconds(100), .milliseconds(400))
        guard lastDecrease.map({ now - $0 >= pause }) ?? true else { return }
        let lasts = now - since > roundTrip + .milliseconds(100)
        var arriving = acknowledged.rate ?? delayRate
        if isApplicationLimited, let capacity { arriving = max(arriving, min(capacity, delayRate)) }
        let share = queue.standing > .milliseconds(100) ? 0.7 : 0.85
        var target = Bitrate(bitsPerSecond: Int(share * Double(arriving.bitsPerSecond)))
        if isApplicationLimited, !lasts { target = max(target, currentFloor(now)) }
        // 0.6 x what got through at the beginning of the queue is enough to drain any queue of our own.
        if let passing = competingFlow.passing {
            target = max(target, Bitrate(bitsPerSecond: passing.bitsPerSecond / 10 &* 6))
        }
        guard target < delayRate else { return }
        if !isApplicationLimited { capacity = capacity.map { mix($0, arriving, 0.5) } ?? arriving }
        delayRate = max(target, minimum)
        if lasts || !isApplicationLimited { floor = min(floor, delayRate) }
        lastDecrease = now
    }

    /// Increase (draft-ietf-rmcat-gcc-02 section 5.5): by `slope` within 20 % of the capacity, else by 8 % a second if
    /// that is more. The rate grows to at most 1.5 x the acknowledged bitrate + 10 kbit/s.
    private mutating func increase(_ elapsed: MediaDuration, _ roundTrip: MediaDuration) {
        let current = Double(delayRate.bitsPerSecond)
        var slope = min(Self.slope, 0.25 * current)
        let isNear = capacity.map { abs(current / Double(max($0.bitsPerSecond, 1)) - 1) < 0.2 } ?? false
        if !isNear { slope = max(slope, 0.08 * current) }
        var grown = current + slope * elapsed.inSeconds
        if let arriving = acknowledged.rate {
            grown = min(grown, max(1.5 * Double(arriving.bitsPerSecond) + 10_000, current))
        }
        delayRate = min(Bitrate(bitsPerSecond: Int(grown)), ceiling)
    }

    /// Reduces the rate a little while the standing queue exceeds the tolerated one without overuse.
    private mutating func ease(_ elapsed: MediaDuration, _ allowed: MediaDuration) {
        let excess = min((queue.standing - allowed).inSeconds / allowed.inSeconds, 1)
        let eased = Double(delayRate.bitsPerSecond) * (1 - Self.easing * excess * elapsed.inSeconds)
        delayRate = max(Bitrate(bitsPerSecond: Int(eased)), minimum)
    }

    /// Sends at 0.7 x the estimate for a second after 15 s with a standing queue. A queue that never empties would in
    /// time be taken for the propagation delay, and a flow that joins later would take it so from the beginning.
    private mutating func drain(_ now: MediaInstant) {
        if queue.standing < Self.leastQueue || isApplicationLimited || competingFlow.isActive {
            lastEmpty = now
            drainUntil = nil
        } else if let until = drainUntil {
            guard now >= until else { return }
            lastEmpty = now
            drainUntil = nil
        } else if now - (lastEmpty ?? now) > Self.longestWithoutEmpty {
            drainUntil = now + .seconds(1)
        }
        if lastEmpty == nil { lastEmpty = now }
    }

    /// AIMD next to a loss-based flow, as TCP Reno: one packet more per round trip, and 20 % less after a loss, at most
    /// once per 1.5 round trips.
    private mutating func contend(_ now: MediaInstant, _ elapsed: MediaDuration, _ roundTrip: MediaDuration) {
        let round = max(roundTrip.inSeconds, 0.05)
        if hasLosses, lastDecrease.map({ (now - $0).inSeconds >= 1.5 * round }) ?? true {
            delayRate = max(Bitrate(bitsPerSecond: delayRate.bitsPerSecond / 5 &* 4), minimum)
            lastDecrease = now
        } else if !isApplicationLimited, queue.standing < .seconds(1) {
            delayRate = min(
                Bitrate(bitsPerSecond: delayRate.bitsPerSecond &+ Int(12_000 / (round * round) * elapsed.inSeconds)),
                ceiling)
        }
    }

    /// Combines the delay-based rate, the loss-based rate and REMB into the estimate.
    private mutating func settle(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let hasQueue = queue.standing > .milliseconds(30)
        let verdict = loss.update(
            now: now, roundTrip: roundTrip, current: estimate, maximum: maximum,
            least: hasQueue ? nil : acknowledged.rate, isOurs: hasQueue || !isApplicationLimited,
            hasQueue: hasQueue, isAnswered: lastDecrease.map { now - $0 < .seconds(1) } ?? false)
        if verdict == .high {
            floor = minimum
        } else if let rate = loss.rate, verdict == .low, rate < currentFloor(now) {
            loss.raise(to: currentFloor(now))
        }
        // Next to a loss-based flow `contend` has answered the losses already.
        if competingFlow.isActive { loss.raise(to: delayRate) }
        var rate = min(delayRate, loss.rate ?? ceiling)
        if drainUntil != nil { rate = Bitrate(bitsPerSecond: rate.bitsPerSecond / 10 &* 7) }
        if let limit = receiver.limit(now: now) { rate = min(rate, limit) }
        pathRate = max(rate, minimum)
        estimate = min(pathRate, maximum)
    }

    /// The floor after decay, with a half-life of 60 s.
    private func currentFloor(_ now: MediaInstant) -> Bitrate {
        let halves = min(max((now - floorSince).inSeconds, 0) / 60, 30)
        var value = Double(floor.bitsPerSecond)
        var whole = Int(halves)
        while whole > 0 {
            value /= 2
            whole -= 1
        }
        value *= 1 - 0.5 * (halves - Double(Int(halves)))
        return max(Bitrate(bitsPerSecond: Int(value)), minimum)
    }

    /// Weighted mean; `share` is the weight of `new`.
    private func mix(_ old: Bitrate, _ new: Bitrate, _ share: Double) -> Bitrate {
        Bitrate(bitsPerSecond: Int(Double(old.bitsPerSecond) * (1 - share) + Double(new.bitsPerSecond) * share))
    }
}
