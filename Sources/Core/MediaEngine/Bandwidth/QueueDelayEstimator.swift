import MediaCore

/// Estimates the standing queue delay of the path: the one-way delay above its minimum over the last 30 s, as LEDBAT
/// (RFC 6817) does over minutes.
///
/// The clocks of sender and receiver need not agree, and their drift within 30 s is negligible. The window is this long
/// because a queue that a competing flow keeps full seldom empties; a shorter one would take it for propagation delay.
struct QueueDelayEstimator {
    private static let period = MediaDuration.seconds(5)
    private static let periods = 6
    /// The minimum one-way delay of each period of 5 s, oldest first.
    private var leasts = BoundedQueue<MediaDuration>(capacity: periods, filler: .zero)
    private var periodStart = MediaInstant(nanoseconds: 0)
    private var leastOfBatch: MediaDuration?
    /// The queue delay by the minimum of the last feedback message: the part of the queue that never drained in that
    /// time.
    private(set) var standing = MediaDuration.zero

    mutating func note(sent: MediaInstant, arrival: MediaInstant) {
        let oneWayDelay = arrival - sent
        if leasts.isEmpty || sent - periodStart > Self.period {
            periodStart = sent
            if leasts.isFull { leasts.popFirst() }
            leasts.append(oneWayDelay)
        } else {
            leasts[leasts.count - 1] = min(leasts[leasts.count - 1], oneWayDelay)
        }
        leastOfBatch = min(leastOfBatch ?? oneWayDelay, oneWayDelay)
    }

    mutating func finishBatch() {
        guard let oneWayDelay = leastOfBatch, var least = leasts.first else { return }
        for index in 1..<max(leasts.count, 1) { least = min(least, leasts[index]) }
        standing = oneWayDelay - least
        leastOfBatch = nil
    }
}
