import MediaCore

/// Reduces the sending rate to 0.7 x the estimate for 1 s after 15 s with a standing queue. Otherwise the minimum
/// one-way delay would include that queue, for this flow and for flows that start later.
struct StandingQueueController {
    private static let longestWithoutEmpty = MediaDuration.seconds(15)
    private var lastEmpty: MediaInstant?
    /// Until when less is sent.
    private var until: MediaInstant?

    /// Less is sent at present.
    var isActive: Bool { until != nil }

    /// - Parameter isEmpty: no queue of this flow stands, or the queue is not to be drained.
    mutating func update(isEmpty: Bool, now: MediaInstant) {
        if isEmpty {
            lastEmpty = now
            until = nil
        } else if let until {
            guard now >= until else { return }
            lastEmpty = now
            self.until = nil
        } else if now - (lastEmpty ?? now) > Self.longestWithoutEmpty {
            until = now + .seconds(1)
        }
        if lastEmpty == nil { lastEmpty = now }
    }
}
