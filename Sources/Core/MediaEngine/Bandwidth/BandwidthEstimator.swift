import MediaCore

/// Decides how much may be sent, out of transport-wide feedback and receiver reports: Google Congestion Control with what a
/// screen needs, which sends little most of the time.
///
/// The last rate that a burst or a probe has confirmed stays as a floor (half-life 60 s) unless a queue lasts for longer than a
/// round trip or losses pass 10 %.
struct BandwidthEstimator {
    private let minimum: Bitrate
    private let maximum: Bitrate
    /// What the path may be believed to carry: more than is ever asked of it, so that one large frame leaves quickly.
    private let ceiling: Bitrate
    private let start: MediaInstant
    /// Bits a second that each second adds near the path's capacity: the same for all, so that flows become alike.
    private static let slope = 60_000.0
    /// Of a second, at most.
    private static let easing = 0.4
    private static let ownQueuePackets = 4.0
    /// A screen that rests sends less than this share of what it could.
    private static let restingShare = 0.65
    /// Less than this is no queue, but chance.
    private static let leastQueue = MediaDuration.milliseconds(8)
    private static let freeAfterQueue = MediaDuration.seconds(2)
    private static let freeAfterDecrease = MediaDuration.seconds(8)
    private static let longestWithoutEmpty = MediaDuration.seconds(15)
    private var trend = TrendlineEstimator()
    private var queue = QueueDelayEstimator()
    private var acknowledged = AcknowledgedBitrateEstimator()
    private var bursts = PacketTrainEstimator()
    private(set) var loss = LossBasedEstimator()
    private var competingFlow = CompetingFlowDetector()
    /// What delay allowed when rivals were last there.
    private var competingRate: (rate: Bitrate, at: MediaInstant)?
    private var lastWay: MediaDuration?
    private var lastPicture: MediaInstant?
    private var hasLosses = false
    /// When a queue was last seen.
    private var lastQueue: MediaInstant?
    private var lastEmpty: MediaInstant?
    private var drainUntil: MediaInstant?
    /// What delay allows.
    private var delayRate: Bitrate
    private var floor: Bitrate
    private var floorSince: MediaInstant
    /// What arrived when the path was last full.
    private var capacity: Bitrate?
    private var overuseSince: MediaInstant?
    private var lastDecrease: MediaInstant?
    private var lastUpdate: MediaInstant?
    /// What the other side says itself, as long as it goes on saying so.
    private var receiver = ReceiverBandwidthLimit()
    /// What the media may take.
    private(set) var estimate: Bitrate
    /// What the path carries; not cut to the media's maximum.
    private(set) var pathRate: Bitrate
    /// Too little is sent to need more.
    private(set) var isApplicationLimited = true
    private(set) var hasFeedback = false
    /// What the last two bursts showed.
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

    /// How long packets wait in the path's queues.
    var queueDelay: MediaDuration { queue.standing }
    var acknowledgedRate: Bitrate? { acknowledged.rate }

    /// Between this and the maximum lies nothing that is worth a probe.
    var isAtMaximum: Bool { estimate.bitsPerSecond >= maximum.bitsPerSecond / 100 * 95 }

    var isLimitedByLoss: Bool { loss.rate.map { $0 <= delayRate } ?? false }

    // MARK: Transport-wide feedback

    /// One packet arrived, in the order of sending; `arrival` is on the other side's clock.
    mutating func noteArrival(bytes: Int, sent: MediaInstant, arrival: MediaInstant, isSound: Bool, now: MediaInstant) {
        noteClock(sent, arrival)
        // Sound between two frames waits behind the first for a moment: that is no trend. Alone it is what there is to go by.
        if isSound {
            if lastPicture.map({ sent - $0 > .seconds(2) }) ?? true { trend.note(sent: sent, arrival: arrival) }
        } else {
            lastPicture = sent
            trend.note(sent: sent, arrival: arrival)
        }
        queue.note(sent: sent, arrival: arrival)
        acknowledged.note(bytes: bytes, at: arrival)
        if let result = bursts.note(bytes: bytes, sent: sent, arrival: arrival) { confirm(result, now) }
    }

    /// The other side's clock was set, or the path stood still for a second: what was learnt of the way's time is worth nothing.
    private mutating func noteClock(_ sent: MediaInstant, _ arrival: MediaInstant) {
        let way = arrival - sent
        defer { lastWay = way }
        guard let lastWay, abs(Double((way - lastWay).nanoseconds)) > 1e9 else { return }
        trend = TrendlineEstimator()
        queue = QueueDelayEstimator()
        acknowledged = AcknowledgedBitrateEstimator()
        bursts = PacketTrainEstimator()
        competingFlow.reset()
        overuseSince = nil
    }

    /// Packets of which feedback was lost; they are taken to have arrived.
    mutating func noteUnreported(bytes: Int, arrival: MediaInstant) { acknowledged.note(bytes: bytes, at: arrival) }

    mutating func noteFates(lost: Int, received: Int) {
        loss.note(lost: lost, received: received)
        if lost > 0 { hasLosses = true }
    }

    /// One feedback packet has been taken in.
    /// - Parameter sending: how much left in the last second.
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
                // Giving way was a trial, and in vain.
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

    // MARK: Peers without it

    /// A receiver report came, about once a second: losses, and how much longer the round trip is than it need be.
    /// - Parameter sample: this report's round trip, if it had one.
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

    /// REMB.
    mutating func noteReported(_ bitrate: Bitrate, now: MediaInstant, roundTrip: MediaDuration, sending: Bitrate) {
        let isUsed = Double(sending.bitsPerSecond) >= Self.restingShare * Double(estimate.bitsPerSecond)
        receiver.note(
            bitrate, sending: sending, isUsed: isUsed,
            hasTrouble: queue.standing > .milliseconds(30) || isLimitedByLoss, now: now)
        hasFeedback = true
        settle(now, roundTrip)
    }

    // MARK: The parts

    /// News came in.
    /// - Returns: for how long that lasted, a second at most.
    private mutating func begin(_ now: MediaInstant, _ sending: Bitrate) -> MediaDuration {
        defer { lastUpdate = now }
        receiver.note(sending: sending, now: now)
        // A screen rests most of the time: what it does not use says nothing about what it could.
        isApplicationLimited =
            Double(sending.bitsPerSecond) < Self.restingShare * Double(estimate.bitsPerSecond)
        return lastUpdate.map { min(now - $0, .seconds(1)) } ?? .zero
    }

    private mutating func confirm(_ result: PacketTrainEstimator.Result, _ now: MediaInstant) {
        if result.isSaturated { capacity = capacity.map { mix($0, result.rate, 0.3) } ?? result.rate }
        // Chance flatters once, seldom three times: after the first second the least of three counts.
        let isEarly = now - start < .seconds(1)
        let rate = isEarly ? result.rate : min(result.rate, recent.0, recent.1)
        recent = (recent.1, result.rate)
        // Seen again: what was once confirmed does not fade.
        if isApplicationLimited, rate >= floor { floorSince = now }
        guard rate > delayRate, overuseSince == nil, !competingFlow.isActive else { return }
        // A burst shows what the path carries, not what of it is free. It is free as long as no queue is seen.
        guard isEarly ? queue.standing < .milliseconds(50) : isFree(now) else { return }
        // One burst may flatter: at most twice as much at a time, and three times in the first second.
        let factor = lastDecrease == nil && isEarly ? 3 : 2
        delayRate = min(
            Bitrate(bitsPerSecond: min(rate.bitsPerSecond, delayRate.bitsPerSecond &* factor)), ceiling)
        floor = delayRate
        floorSince = now
    }

    /// No queue was seen for a while.
    private func isFree(_ now: MediaInstant) -> Bool {
        (lastQueue.map { now - $0 >= Self.freeAfterQueue } ?? true)
            && (lastDecrease.map { now - $0 >= Self.freeAfterDecrease } ?? true)
    }

    /// The queue that a flow of our rate may keep: some packets of its own. Who sends more than others meets it sooner, which is what
    /// makes flows alike.
    private var allowedQueue: MediaDuration {
        let own = Self.ownQueuePackets * 9_600 / Double(max(delayRate.bitsPerSecond, 1))
        return Self.leastQueue + .microseconds(Int(min(own, 0.05) * 1e6))
    }

    private mutating func decrease(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let since = overuseSince ?? now
        overuseSince = since
        let pause = min(roundTrip + .milliseconds(100), .milliseconds(400))
        guard lastDecrease.map({ now - $0 >= pause }) ?? true else { return }
        let lasts = now - since > roundTrip + .milliseconds(100)
        var arriving = acknowledged.rate ?? delayRate
        if isApplicationLimited, let capacity { arriving = max(arriving, min(capacity, delayRate)) }
        // A long queue has to go quickly.
        let share = queue.standing > .milliseconds(100) ? 0.7 : 0.85
        var target = Bitrate(bitsPerSecond: Int(share * Double(arriving.bitsPerSecond)))
        if isApplicationLimited, !lasts { target = max(target, currentFloor(now)) }
        // Enough to drain any queue that is ours.
        if let passing = competingFlow.passing {
            target = max(target, Bitrate(bitsPerSecond: passing.bitsPerSecond / 10 &* 6))
        }
        guard target < delayRate else { return }
        if !isApplicationLimited { capacity = capacity.map { mix($0, arriving, 0.5) } ?? arriving }
        delayRate = max(target, minimum)
        if lasts || !isApplicationLimited { floor = min(floor, delayRate) }
        lastDecrease = now
    }

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

    /// More of a queue than is ours to keep, but no sign of worse: a little less.
    private mutating func ease(_ elapsed: MediaDuration, _ allowed: MediaDuration) {
        let excess = min((queue.standing - allowed).inSeconds / allowed.inSeconds, 1)
        let eased = Double(delayRate.bitsPerSecond) * (1 - Self.easing * excess * elapsed.inSeconds)
        delayRate = max(Bitrate(bitsPerSecond: Int(eased)), minimum)
    }

    /// A queue that never empties is in time taken for the way itself, and whoever comes later takes it so from the beginning: for a
    /// moment we send less, until it is empty.
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

    /// Among rivals: as TCP does.
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
        // Among rivals losses have been answered already.
        if competingFlow.isActive { loss.raise(to: delayRate) }
        var rate = min(delayRate, loss.rate ?? ceiling)
        if drainUntil != nil { rate = Bitrate(bitsPerSecond: rate.bitsPerSecond / 10 &* 7) }
        if let limit = receiver.limit(now: now) { rate = min(rate, limit) }
        pathRate = max(rate, minimum)
        estimate = min(pathRate, maximum)
    }

    private func currentFloor(_ now: MediaInstant) -> Bitrate {
        // Half-life 60 s, in steps of a second.
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

    private func mix(_ old: Bitrate, _ new: Bitrate, _ share: Double) -> Bitrate {
        Bitrate(bitsPerSecond: Int(Double(old.bitsPerSecond) * (1 - share) + Double(new.bitsPerSecond) * share))
    }
}
