import MediaCore

/// How long packets wait in queues on their way: the way's time above the least of the last half minute.
///
/// The clocks of both sides need not agree; how far they drift apart in that time does not matter. A least that is so old is needed
/// because a queue that others keep full seldom empties, and would otherwise be taken for the way itself.
struct QueueDelayEstimator {
    private static let period = MediaDuration.seconds(5)
    private static let periods = 6
    /// Of each period, the newest last.
    private var leasts = RingBuffer<MediaDuration>(capacity: periods, filler: .zero)
    private var periodStart = MediaInstant(nanoseconds: 0)
    private var leastOfBatch: MediaDuration?
    /// The least of the last batch of feedback: a queue that stood all the time.
    private(set) var standing = MediaDuration.zero

    mutating func note(sent: MediaInstant, arrival: MediaInstant) {
        let way = arrival - sent
        if leasts.isEmpty || sent - periodStart > Self.period {
            periodStart = sent
            if leasts.isFull { leasts.popFirst() }
            leasts.append(way)
        } else {
            leasts[leasts.count - 1] = min(leasts[leasts.count - 1], way)
        }
        leastOfBatch = min(leastOfBatch ?? way, way)
    }

    mutating func finishBatch() {
        guard let way = leastOfBatch, var least = leasts.first else { return }
        for index in 1..<max(leasts.count, 1) { least = min(least, leasts[index]) }
        standing = way - least
        leastOfBatch = nil
    }
}
