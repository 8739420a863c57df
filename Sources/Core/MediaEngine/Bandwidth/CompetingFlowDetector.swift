import MediaCore

/// Tells a queue of our own making from one that others keep full whatever we do, as a long TCP download does.
///
/// A queue of our own drains when we send less than what gets through. If by what was sent less it should have drained three times over and is
/// still there, and things are lost for want of room, giving way is useless: from then on we take our share as TCP does, a little more for each round trip and a
/// quarter less when something is lost, until the queue has been empty for a while.
struct CompetingFlowDetector {
    /// Shorter ones are not worth a quarrel.
    private static let least = MediaDuration.milliseconds(60)
    private static let empty = MediaDuration.milliseconds(20)
    private static let settling = MediaDuration.milliseconds(600)
    private static let quiet = MediaDuration.seconds(2)
    /// As long as this nobody makes a queue wait without losing anything.
    private static let endless = MediaDuration.milliseconds(400)
    /// So often it is tried anew whether giving way helps, as the rivals may be like us; at moments that all senders of a host share.
    private static let trial: Int64 = 5_000_000_000
    /// Each trial in vain doubles the time to the next, up to sixteen times.
    private var trialLength = trial

    private(set) var isActive = false
    private var since: MediaInstant?
    private var emptySince: MediaInstant?
    private var deepest = MediaDuration.zero
    private var hasLost = false
    private var activeSince = MediaInstant(nanoseconds: 0)
    /// Seconds of queue that should be gone by now.
    private var drained = 0.0
    /// What got through at the beginning of this queue; nil until that is known.
    private(set) var passing: Bitrate?

    /// - Parameters:
    ///   - queue: that stands.
    ///   - sending: at present.
    ///   - arriving: at present, on the other side.
    ///   - isAtMinimum: less cannot be sent.
    ///   - hasLosses: something was lost since this was last called.
    mutating func update(
        now: MediaInstant, elapsed: MediaDuration, queue: MediaDuration, sending: Bitrate, arriving: Bitrate,
        hasLosses: Bool, isAtMinimum: Bool
    ) {
        if isActive { return leave(now, queue) }
        guard queue >= Self.least else { return reset() }
        let begin = since ?? now
        since = begin
        deepest = max(deepest, queue)
        if hasLosses { hasLost = true }
        guard now - begin >= Self.settling else { return }
        guard let passing, Double(arriving.bitsPerSecond) > 0.8 * Double(sending.bitsPerSecond) else {
            // Less gets through than is sent: the path is what has become narrow.
            passing = arriving
            drained = 0
            return
        }
        let share = Double(sending.bitsPerSecond) / Double(max(passing.bitsPerSecond, 1))
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
        passing = nil
    }
}
