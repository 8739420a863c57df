import MediaCore

/// How long packets wait in queues on their way: the way's time above the least of the last ten seconds.
///
/// The clocks of both sides need not agree; that they drift does not matter in ten seconds.
struct QueueDelay {
    private static let period = MediaDuration.seconds(5)
    private var least: MediaDuration?
    private var leastBefore: MediaDuration?
    private var periodStart = MediaInstant(nanoseconds: 0)
    private var leastOfBatch: MediaDuration?
    /// The least of the last batch of feedback: a queue that stood all the time.
    private(set) var standing = MediaDuration.zero

    mutating func note(sent: MediaInstant, arrival: MediaInstant) {
        let way = arrival - sent
        if least == nil { periodStart = sent }
        if sent - periodStart > Self.period {
            periodStart = sent
            leastBefore = least
            least = way
        }
        least = min(least ?? way, way)
        leastOfBatch = min(leastOfBatch ?? way, way)
    }

    mutating func finishBatch() {
        guard let way = leastOfBatch, let least else { return }
        standing = way - min(least, leastBefore ?? least)
        leastOfBatch = nil
    }
}
