import MediaCore

/// When to ask for a key frame: once it is needed, at most each 300 ms, and more rarely if nothing answers.
struct KeyframeRequester {
    private static let shortest = MediaDuration.milliseconds(300)
    private(set) var isNeeded = false
    private var last: MediaInstant?
    private var tries: Int64 = 0
    private(set) var deadline = MediaInstant.distantFuture

    mutating func need(now: MediaInstant) {
        guard !isNeeded else { return }
        isNeeded = true
        tries = 0
        deadline = last.map { max(now, $0 + Self.shortest) } ?? now
    }

    mutating func noteSent(now: MediaInstant, roundTrip: MediaDuration) {
        last = now
        tries += 1
        // 300 ms, and a second after the tenth.
        let pause = max(Self.shortest, roundTrip + .milliseconds(100))
        deadline = now + (tries > 10 ? max(pause, .seconds(1)) : pause)
    }

    /// A key frame's start has come: give it time.
    mutating func hold(until instant: MediaInstant) { if isNeeded { deadline = max(deadline, instant) } }

    mutating func noteServed() {
        isNeeded = false
        deadline = .distantFuture
    }
}
