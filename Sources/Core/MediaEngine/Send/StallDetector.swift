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
    /// One packet of a pair was sent.
    private var isPairBegun = false
    /// The receiver sends messages also when it has nothing to report.
    private var sendsEmpty = false
    /// The end of what had been sent when it last did, if it has reported nothing since.
    private var lastSilent: Int64?
    /// Several packets were sent, of which it reported none.
    private var isSuspect = false

    init(now: MediaInstant) { lastHeard = now }

    /// A message from the receiver showed that packets arrive.
    mutating func noteHeard(now: MediaInstant) { lastHeard = now }

    /// The receiver has reported that nothing arrived since its last message. Pion's receivers say so, too, of a packet that
    /// came alone, and never report it.
    /// - Parameter end: the transport-wide number of the next packet.
    mutating func noteEmptyFeedback(end: Int64, now: MediaInstant) {
        sendsEmpty = true
        defer { lastSilent = end }
        guard let lastSilent else { return }
        if end > lastSilent &+ 1 { isSuspect = true }
        if !isSuspect { lastHeard = now }
    }

    /// Feedback on sent packets came.
    mutating func noteFeedback(now: MediaInstant) {
        lastHeard = now
        isStalled = false
        isSuspect = false
        lastSilent = nil
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

    /// Whether a probe may be sent now; the next one may be after 100 ms. A receiver that sends empty feedback gets pairs of
    /// packets.
    mutating func takeProbe(now: MediaInstant) -> Bool {
        guard now >= nextProbe else { return false }
        isPairBegun = sendsEmpty && !isPairBegun
        if !isPairBegun { nextProbe = now + .milliseconds(100) }
        return true
    }

    /// Only some packets in a row may have been lost, so during the first second a tenth of the estimate is sent.
    mutating func noteProbeSent(bytes: Int, estimate: Bitrate, now: MediaInstant) {
        guard now - since < .seconds(1) else { return }
        let tenth = Bitrate(bitsPerSecond: max(estimate.bitsPerSecond / 10, 1))
        let pause = max(tenth.duration(ofBytes: sendsEmpty ? bytes &* 2 : bytes), .milliseconds(10))
        nextProbe = min(nextProbe, now + pause)
    }
}
