import MediaCore

/// Decides how much may be sent, out of transport-wide feedback and receiver reports: Google Congestion Control with what a
/// screen needs, which sends little most of the time.
///
/// The last rate that a burst or a probe has confirmed stays as a floor (half-life 60 s) unless a queue lasts for longer than a
/// round trip or losses pass 10 %.
struct RateController {
    private let minimum: Bitrate
    private let maximum: Bitrate
    /// What the path may be believed to carry: more than is ever asked of it, so that one large frame leaves quickly.
    private let ceiling: Bitrate
    private let start: MediaInstant
    private var trend = DelayTrend()
    private var queue = QueueDelay()
    private var acknowledged = AcknowledgedRate()
    private var bursts = BurstMeter()
    private(set) var loss = LossLimit()
    /// What delay allows.
    private var delayRate: Bitrate
    private var floor: Bitrate
    private var floorSince: MediaInstant
    /// What arrived when the path was last full.
    private var capacity: Bitrate?
    private var overuseSince: MediaInstant?
    private var lastDecrease: MediaInstant?
    private var lastUpdate: MediaInstant?
    private var reported: Bitrate?
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
        floor = minimum
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
    mutating func noteArrival(bytes: Int, sent: MediaInstant, arrival: MediaInstant, now: MediaInstant) {
        trend.note(sent: sent, arrival: arrival)
        queue.note(sent: sent, arrival: arrival)
        acknowledged.note(bytes: bytes, at: arrival)
        if let result = bursts.note(bytes: bytes, sent: sent, arrival: arrival) { confirm(result, now) }
    }

    mutating func noteFates(lost: Int, received: Int) { loss.note(lost: lost, received: received) }

    /// One feedback packet has been taken in.
    /// - Parameter sending: how much left in the last second.
    mutating func finishFeedback(now: MediaInstant, roundTrip: MediaDuration, sending: Bitrate) {
        hasFeedback = true
        queue.finishBatch()
        if let result = bursts.takeResult() { confirm(result, now) }
        let elapsed = lastUpdate.map { min(now - $0, .seconds(1)) } ?? .zero
        lastUpdate = now
        // A screen rests most of the time: what it does not use says nothing about what it could.
        isApplicationLimited = Double(sending.bitsPerSecond) < 0.65 * Double(estimate.bitsPerSecond)
        if trend.signal == .overuse && queue.standing > .milliseconds(5) || queue.standing > .milliseconds(90) {
            decrease(now, roundTrip)
        } else {
            overuseSince = nil
            if trend.signal == .normal, !isApplicationLimited { increase(elapsed, roundTrip) }
        }
        settle(now, roundTrip)
    }

    // MARK: Peers without it

    mutating func noteReport(
        fraction: Double, packets: Int, now: MediaInstant, roundTrip: MediaDuration, sending: Bitrate
    ) {
        hasFeedback = true
        loss.noteReport(fraction: fraction, packets: packets)
        let elapsed = lastUpdate.map { min(now - $0, .seconds(1)) } ?? .zero
        lastUpdate = now
        isApplicationLimited = Double(sending.bitsPerSecond) < 0.65 * Double(estimate.bitsPerSecond)
        if fraction < 0.02, !isApplicationLimited { increase(elapsed, roundTrip) }
        settle(now, roundTrip)
    }

    /// REMB.
    mutating func noteReported(_ bitrate: Bitrate, now: MediaInstant, roundTrip: MediaDuration) {
        reported = max(bitrate, minimum)
        hasFeedback = true
        settle(now, roundTrip)
    }

    // MARK: The parts

    private mutating func confirm(_ result: BurstMeter.Result, _ now: MediaInstant) {
        if result.isSaturated { capacity = capacity.map { mix($0, result.rate, 0.3) } ?? result.rate }
        // Chance flatters once, seldom three times: after the first second the least of three counts.
        let rate = now - start < .seconds(1) ? result.rate : min(result.rate, recent.0, recent.1)
        recent = (recent.1, result.rate)
        guard rate > delayRate, overuseSince == nil, queue.standing < .milliseconds(50) else { return }
        // One burst may flatter: at most twice as much at a time, and three times in the first second.
        let factor = lastDecrease == nil && now - start < .seconds(1) ? 3 : 2
        delayRate = min(
            Bitrate(bitsPerSecond: min(rate.bitsPerSecond, delayRate.bitsPerSecond &* factor)), ceiling)
        floor = delayRate
        floorSince = now
    }

    private mutating func decrease(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let since = overuseSince ?? now
        overuseSince = since
        let pause = min(roundTrip + .milliseconds(100), .milliseconds(400))
        guard lastDecrease.map({ now - $0 >= pause }) ?? true else { return }
        let lasts = now - since > roundTrip + .milliseconds(100)
        var arriving = acknowledged.rate ?? delayRate
        if isApplicationLimited, let capacity { arriving = max(arriving, min(capacity, delayRate)) }
        var target = Bitrate(bitsPerSecond: Int(0.85 * Double(arriving.bitsPerSecond)))
        if isApplicationLimited, !lasts { target = max(target, currentFloor(now)) }
        guard target < delayRate else { return }
        if !isApplicationLimited { capacity = capacity.map { mix($0, arriving, 0.5) } ?? arriving }
        delayRate = max(target, minimum)
        if lasts || !isApplicationLimited { floor = min(floor, delayRate) }
        lastDecrease = now
    }

    private mutating func increase(_ elapsed: MediaDuration, _ roundTrip: MediaDuration) {
        let current = Double(delayRate.bitsPerSecond)
        var grown = current * (1 + 0.08 * elapsed.inSeconds)
        if let capacity, abs(current / Double(max(capacity.bitsPerSecond, 1)) - 1) < 0.2 {
            let response = roundTrip.inSeconds + 0.1
            grown = current + 9_600 / response * elapsed.inSeconds
        }
        if let arriving = acknowledged.rate {
            grown = min(grown, max(1.5 * Double(arriving.bitsPerSecond) + 10_000, current))
        }
        delayRate = min(Bitrate(bitsPerSecond: Int(grown)), ceiling)
    }

    private mutating func settle(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let hasQueue = queue.standing > .milliseconds(30)
        let verdict = loss.update(
            now: now, roundTrip: roundTrip, current: estimate, maximum: maximum,
            least: hasQueue ? nil : acknowledged.rate, isOurs: hasQueue || !isApplicationLimited,
            hasQueue: hasQueue)
        if verdict == .high {
            floor = minimum
        } else if let rate = loss.rate, verdict == .low, rate < currentFloor(now) {
            loss.raise(to: currentFloor(now))
        }
        var rate = min(delayRate, loss.rate ?? ceiling)
        if let reported { rate = min(rate, reported) }
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
