import MediaCore

/// Detects that a competing loss-based flow (TCP) fills the queue. It serves the purpose of the TCP-competitive mode of
/// Copa (Arun and Balakrishnan, NSDI 2018) with a criterion of its own.
///
/// The detector integrates how far the sent bitrate is below the bitrate acknowledged when the queue began. It becomes
/// active when that sum is three times the longest queue, more than half of that queue remains, and packets were lost
/// or the queue exceeded 400 ms. `BandwidthEstimator` then uses AIMD in place of the delay, until the queue was empty
/// for 2 s.
struct CompetingFlowDetector {
    /// Queues shorter than this are ignored.
    private static let least = MediaDuration.milliseconds(60)
    private static let empty = MediaDuration.milliseconds(20)
    private static let settling = MediaDuration.milliseconds(600)
    private static let quiet = MediaDuration.seconds(2)
    /// A queue this long counts as caused by a competing flow even without losses.
    private static let endless = MediaDuration.milliseconds(400)
    /// Once per interval the detector becomes inactive, to test whether the other flow yields, as another delay-based
    /// flow does. Intervals begin at multiples of 5 s of the clock, so that all senders of a host test at the same
    /// time.
    private static let trial: Int64 = 5_000_000_000
    /// Doubles after each trial in vain, up to 16 times the interval.
    private var trialLength = trial

    private(set) var isActive = false
    private var since: MediaInstant?
    private var emptySince: MediaInstant?
    private var deepest = MediaDuration.zero
    private var hasLost = false
    private var activeSince = MediaInstant(nanoseconds: 0)
    /// By how many seconds of queue we have sent less than got through since the queue began.
    private var drained = 0.0
    /// The acknowledged bitrate when this queue began; nil until it has stood for 600 ms.
    private(set) var bitrateAtQueueStart: Bitrate?
    /// The delay-based rate when it was last active; for `BandwidthEstimator`.
    var lastRate: (rate: Bitrate, at: MediaInstant)?

    /// Takes in the state after one feedback message.
    /// - Parameters:
    ///   - queue: the standing queue delay.
    ///   - sentBitrate: the bitrate sent over the last second.
    ///   - acknowledgedBitrate: the acknowledged bitrate.
    ///   - isAtMinimum: the rate cannot be reduced any further.
    ///   - hasLosses: packets were lost since the last call.
    mutating func update(
        now: MediaInstant, elapsed: MediaDuration, queue: MediaDuration, sentBitrate: Bitrate,
        acknowledgedBitrate: Bitrate,
        hasLosses: Bool, isAtMinimum: Bool
    ) {
        if isActive { return leave(now, queue) }
        guard queue >= Self.least else { return reset() }
        let begin = since ?? now
        since = begin
        deepest = max(deepest, queue)
        if hasLosses { hasLost = true }
        guard now - begin >= Self.settling else { return }
        guard let bitrateAtQueueStart,
            Double(acknowledgedBitrate.bitsPerSecond) > 0.8 * Double(sentBitrate.bitsPerSecond)
        else {
            // Less gets through than is sent: the bottleneck itself has become slower.
            bitrateAtQueueStart = acknowledgedBitrate
            drained = 0
            return
        }
        let share = Double(sentBitrate.bitsPerSecond) / Double(max(bitrateAtQueueStart.bitsPerSecond, 1))
        drained += (isAtMinimum ? 1 : max(0, 1 - share)) * elapsed.inSeconds
        guard drained > 3 * deepest.inSeconds, queue.inSeconds > 0.5 * deepest.inSeconds,
            hasLost || deepest > Self.endless
        else { return }
        isActive = true
        activeSince = now
        emptySince = nil
    }

    private mutating func leave(_ now: MediaInstant, _ queue: MediaDuration) {
        if now.nanoseconds / trialLength != activeSince.nanoseconds / trialLength {
            trialLength = min(trialLength &* 2, Self.trial &* 16)
            return reset()
        }
        guard queue < Self.empty else { return emptySince = nil }
        let begin = emptySince ?? now
        emptySince = begin
        if now - begin >= Self.quiet {
            trialLength = Self.trial
            reset()
        }
    }

    mutating func reset() {
        isActive = false
        since = nil
        emptySince = nil
        deepest = .zero
        hasLost = false
        drained = 0
        bitrateAtQueueStart = nil
    }
}
