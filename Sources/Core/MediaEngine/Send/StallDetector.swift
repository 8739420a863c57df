import MediaCore

/// Detects that nothing gets through: no feedback for 500 ms or 3 round trips, although sent packets wait for it. What
/// is sent then is probably lost, so only single packets are sent, as probes.
struct StallDetector {
    private(set) var isStalled = false
    /// How often sending stalled.
    private(set) var count = 0
    private var since = MediaInstant(nanoseconds: 0)
    /// When the next packet may be sent during a stall.
    private(set) var nextProbe = MediaInstant(nanoseconds: .min)
    private var lastHeard: MediaInstant

    init(now: MediaInstant) { lastHeard = now }

    /// A message from the receiver showed that packets arrive.
    mutating func noteHeard(now: MediaInstant) { lastHeard = now }

    /// Feedback on sent packets came.
    mutating func noteFeedback(now: MediaInstant) {
        lastHeard = now
        isStalled = false
    }

    /// - Parameter oldest: when the oldest packet without feedback was sent; nil if none waits for feedback, or the
    ///   receiver sends none.
    mutating func update(oldestUnanswered oldest: MediaInstant?, roundTrip: MediaDuration, now: MediaInstant) {
        guard let oldest else {
            isStalled = false
            return
        }
        let patience = max(.milliseconds(500), roundTrip * 3)
        let isSilent = now - max(oldest, lastHeard) > patience
        if isSilent, !isStalled {
            count &+= 1
            since = now
        }
        isStalled = isSilent
    }

    /// Whether a probe may be sent now; the next one may be after 100 ms.
    mutating func takeProbe(now: MediaInstant) -> Bool {
        guard now >= nextProbe else { return false }
        nextProbe = now + .milliseconds(100)
        return true
    }

    /// Only some packets in a row may have been lost, so during the first second a tenth of the estimate is sent.
    mutating func noteProbeSent(bytes: Int, estimate: Bitrate, now: MediaInstant) {
        guard now - since < .seconds(1) else { return }
        let tenth = Bitrate(bitsPerSecond: max(estimate.bitsPerSecond / 10, 1))
        let pause = max(tenth.duration(ofBytes: bytes), .milliseconds(10))
        nextProbe = min(nextProbe, now + pause)
    }
}
