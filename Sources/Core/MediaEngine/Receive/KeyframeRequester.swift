import MediaCore

/// Decides when to send PLI: when a key frame becomes needed, at most every 300 ms (or round trip + 100 ms), and at
/// most once a second after ten requests without an answer.
struct KeyframeRequester {
    private static let shortest = MediaDuration.milliseconds(300)
    private(set) var isNeeded = false
    private var last: MediaInstant?
    private var tries: Int64 = 0
    private(set) var deadline = MediaInstant.distantFuture
    /// When the last PLI is sent a second time, as it may have been lost.
    private(set) var repeatDeadline = MediaInstant.distantFuture
    /// A PLI was sent, and its event has not been returned yet.
    private var isEventDue = false

    mutating func need(now: MediaInstant) {
        guard !isNeeded else { return }
        isNeeded = true
        tries = 0
        deadline = last.map { max(now, $0 + Self.shortest) } ?? now
    }

    mutating func noteSent(now: MediaInstant, roundTrip: MediaDuration) {
        last = now
        repeatDeadline = now + .milliseconds(15)
        isEventDue = true
        tries += 1
        let pause = max(Self.shortest, roundTrip + .milliseconds(100))
        deadline = now + (tries > 10 ? max(pause, .seconds(1)) : pause)
    }

    /// Whether the last PLI is to be sent a second time now.
    mutating func takeRepeat(now: MediaInstant) -> Bool {
        guard now >= repeatDeadline else { return false }
        repeatDeadline = .distantFuture
        return isNeeded
    }

    /// Whether a PLI was sent since the last call.
    mutating func takeEvent() -> Bool {
        defer { isEventDue = false }
        return isEventDue
    }

    /// The start of a key frame has arrived, so the next request is delayed.
    mutating func hold(until instant: MediaInstant) { if isNeeded { deadline = max(deadline, instant) } }

    mutating func noteServed() {
        isNeeded = false
        deadline = .distantFuture
    }
}
