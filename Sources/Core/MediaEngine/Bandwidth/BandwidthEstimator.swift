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
    /// The sender is application-limited while it sends less than this share of the estimate.
    private static let applicationLimitedShare = 0.65

    private let maximum: Bitrate
    private var arrivals = ArrivalEstimators()
    /// The delay-based rate.
    private var control: AIMDRateControl
    private(set) var loss = LossBasedEstimator()
    private var competingFlow = CompetingFlowDetector()
    private var drain = StandingQueueController()
    /// The limit that the receiver signals by REMB, while it keeps signalling.
    private var receiver = ReceiverBandwidthLimit()
    private var hasLosses = false
    private var lastUpdate: MediaInstant?
    /// The bandwidth estimate for all media of the session: `pathRate`, at most the maximum bitrate.
    private(set) var estimate: Bitrate
    /// The bandwidth estimate of the path, not limited to the maximum bitrate.
    private(set) var pathRate: Bitrate
    /// The sender uses less than `applicationLimitedShare` of the estimate.
    private(set) var isApplicationLimited = true
    private(set) var hasFeedback = false

    init(start: Bitrate, minimum: Bitrate, maximum: Bitrate, now: MediaInstant) {
        self.maximum = maximum
        control = AIMDRateControl(start: start, minimum: minimum, maximum: maximum, now: now)
        estimate = control.rate
        pathRate = control.rate
    }

    /// The standing queue delay of the path.
    var queueDelay: MediaDuration { arrivals.queueDelay }
    var acknowledgedRate: Bitrate? { arrivals.acknowledgedRate }

    /// The estimate is within 5 % of the maximum bitrate, so a probe would gain nothing.
    var isAtMaximum: Bool { estimate.bitsPerSecond >= maximum.bitsPerSecond / 100 * 95 }

    /// How long after a probe the next one may be sent.
    func probePause(now: MediaInstant) -> MediaDuration { control.probePause(now: now) }

    var isLimitedByLoss: Bool { loss.rate.map { $0 <= control.rate } ?? false }

    // MARK: Transport-wide feedback

    /// Takes in one received packet, in the order of sending.
    /// - Parameter arrival: on the receiver's clock; any epoch.
    mutating func noteArrival(bytes: Int, sent: MediaInstant, arrival: MediaInstant, isAudio: Bool, now: MediaInstant) {
        if arrivals.noteClock(sent: sent, arrival: arrival) {
            competingFlow.reset()
            control.endOveruse()
        }
        if let result = arrivals.note(bytes: bytes, sent: sent, arrival: arrival, isAudio: isAudio) {
            confirm(result, now)
        }
    }

    /// Counts packets whose feedback was lost as received.
    mutating func noteUnreported(bytes: Int, arrival: MediaInstant) {
        arrivals.noteUnreported(bytes: bytes, arrival: arrival)
    }

    /// Takes in how many packets a feedback message reported as lost and as received.
    mutating func noteStatuses(lost: Int, received: Int) {
        loss.note(lost: lost, received: received)
        if lost > 0 { hasLosses = true }
    }

    /// Updates the estimate after all packets of one feedback message were taken in.
    /// - Parameter sentBitrate: the bitrate sent over the last second.
    mutating func finishFeedback(now: MediaInstant, roundTrip: MediaDuration, sentBitrate: Bitrate) {
        hasFeedback = true
        if let result = arrivals.finishBatch() { confirm(result, now) }
        let lastUpdateBefore = lastUpdate
        let input = begin(now, roundTrip, sentBitrate)
        control.noteQueue(queueDelay, now: now)
        competingFlow.update(
            now: now, elapsed: input.elapsed, queue: queueDelay, sentBitrate: sentBitrate,
            acknowledgedBitrate: acknowledgedRate ?? control.rate, hasLosses: hasLosses,
            isAtMinimum: control.rate <= control.minimum)
        let hasNoQueue = queueDelay < AIMDRateControl.leastQueue
        drain.update(isEmpty: hasNoQueue || isApplicationLimited || competingFlow.isActive, now: now)
        if competingFlow.isActive {
            updateCompetitive(input, lastUpdateBefore)
        } else {
            updateByDelay(input)
        }
        hasLosses = false
        combineEstimates(now, roundTrip)
    }

    /// Updates the delay-based rate next to a loss-based flow.
    private mutating func updateCompetitive(_ input: AIMDRateControl.Input, _ lastUpdateBefore: MediaInstant?) {
        if let before = competingFlow.lastRate, input.now - before.at < .seconds(10), before.at != lastUpdateBefore {
            // The last decrease tested whether the competing flow also reduces its rate. It did not, so the rate is
            // restored.
            control.restore(before.rate)
        }
        competingFlow.lastRate = (control.rate, input.now)
        control.updateLikeReno(input, hasLosses: hasLosses)
    }

    /// Updates the delay-based rate by the queue delay and its trend.
    private mutating func updateByDelay(_ input: AIMDRateControl.Input) {
        let allowed = control.allowedQueue
        let isOverused = arrivals.signal == .overuse && queueDelay > max(allowed, .milliseconds(15))
        if isOverused || queueDelay > .milliseconds(90) {
            control.decrease(input, bitrateAtQueueStart: competingFlow.bitrateAtQueueStart)
            return
        }
        control.endOveruse()
        guard !isApplicationLimited else { return }
        if queueDelay > allowed {
            control.decreaseGradually(input, allowed: allowed)
        } else if arrivals.signal == .normal {
            control.increase(input)
        }
    }

    /// Takes in the result of a packet train.
    private mutating func confirm(_ result: PacketTrainEstimator.Result, _ now: MediaInstant) {
        control.confirm(
            result, queueDelay: queueDelay, isApplicationLimited: isApplicationLimited,
            isContended: competingFlow.isActive, now: now)
    }

    // MARK: Receiver reports and REMB

    /// Updates the estimate from a receiver report (about one a second), for peers without transport-wide feedback. It
    /// uses the fraction lost, and the round trip time above its minimum as queue delay.
    /// - Parameter sample: the round trip time measured by this report; nil if it had no LSR.
    mutating func noteReceiverReport(
        fraction: Double, packets: Int, sample: MediaDuration?, now: MediaInstant, roundTrip: MediaDuration,
        sentBitrate: Bitrate
    ) {
        hasFeedback = true
        loss.noteReport(fraction: fraction, packets: packets)
        if let sample { arrivals.noteRoundTrip(sample, now: now) }
        let input = begin(now, roundTrip, sentBitrate)
        if queueDelay > .milliseconds(70) {
            control.decreaseOnReport(input, sentBitrate: sentBitrate)
        } else if fraction < 0.02, !isApplicationLimited, queueDelay < .milliseconds(30),
            receiver.limit(now: now).map({ control.rate.bitsPerSecond / 3 < $0.bitsPerSecond / 2 }) ?? true
        {
            control.increase(input)
        }
        combineEstimates(now, roundTrip)
    }

    /// Takes in the receiver's own estimate (REMB, draft-alvestrand-rmcat-remb-03).
    mutating func noteREMB(_ bitrate: Bitrate, now: MediaInstant, roundTrip: MediaDuration, sentBitrate: Bitrate) {
        let isUsed = Double(sentBitrate.bitsPerSecond) >= Self.applicationLimitedShare * Double(estimate.bitsPerSecond)
        receiver.note(
            bitrate, sentBitrate: sentBitrate, isUsed: isUsed,
            hasTrouble: queueDelay > .milliseconds(30) || isLimitedByLoss,
            now: now)
        hasFeedback = true
        combineEstimates(now, roundTrip)
    }

    /// A limit is repeated about every second.
    private static let limitLasts = MediaDuration.seconds(5)

    /// Takes in how much the receiver allows, by REMB beside transport-wide feedback. A relay has it from its viewers.
    /// libwebrtc's `GoogCcNetworkController::OnRemoteBitrateReport` does the same. It expires after 5 s.
    mutating func noteLimit(_ bitrate: Bitrate, now: MediaInstant) {
        let rate = max(bitrate, control.minimum)
        receiver.allowed = (rate, now + Self.limitLasts)
        pathRate = min(pathRate, rate)
        estimate = min(estimate, rate)
    }

    // MARK: Parts of an update

    /// Begins an update and decides whether the sender is application-limited.
    private mutating func begin(
        _ now: MediaInstant, _ roundTrip: MediaDuration, _ sentBitrate: Bitrate
    ) -> AIMDRateControl.Input {
        defer { lastUpdate = now }
        receiver.note(sentBitrate: sentBitrate, now: now)
        // The rate that a still screen does not use says nothing about the capacity.
        isApplicationLimited =
            Double(sentBitrate.bitsPerSecond) < Self.applicationLimitedShare * Double(estimate.bitsPerSecond)
        return AIMDRateControl.Input(
            now: now, elapsed: lastUpdate.map { min(now - $0, .seconds(1)) } ?? .zero, roundTrip: roundTrip,
            queueDelay: queueDelay, acknowledgedRate: acknowledgedRate, isApplicationLimited: isApplicationLimited)
    }

    /// Combines the delay-based rate, the loss-based rate and REMB into the estimate.
    private mutating func combineEstimates(_ now: MediaInstant, _ roundTrip: MediaDuration) {
        let hasQueue = queueDelay > .milliseconds(30)
        let verdict = loss.update(
            now: now, roundTrip: roundTrip, current: estimate, maximum: maximum,
            least: hasQueue ? nil : acknowledgedRate, isOurs: hasQueue || !isApplicationLimited,
            hasQueue: hasQueue, isAnswered: control.lastDecrease.map { now - $0 < .seconds(1) } ?? false)
        if verdict == .high {
            control.removeFloor()
        } else if let rate = loss.rate, verdict == .low, rate < control.currentFloor(now: now) {
            loss.raise(to: control.currentFloor(now: now))
        }
        // Next to a loss-based flow `updateCompetitive` has answered the losses already.
        if competingFlow.isActive { loss.raise(to: control.rate) }
        var rate = min(control.rate, loss.rate ?? control.ceiling)
        // While the queue is drained, 0.7 x the estimate is sent.
        if drain.isActive { rate = Bitrate(bitsPerSecond: rate.bitsPerSecond / 10 &* 7) }
        if let limit = receiver.limit(now: now) { rate = min(rate, limit) }
        if let allowed = receiver.allowed, now < allowed.until { rate = min(rate, allowed.rate) }
        pathRate = max(rate, control.minimum)
        estimate = min(pathRate, maximum)
    }
}
