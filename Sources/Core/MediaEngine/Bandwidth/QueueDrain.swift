import MediaCore

/// Lets the sender send less for a second after 15 s with a standing queue. A queue that never empties would in time be
/// taken for the propagation delay, and a flow that joins later would take it so from the beginning.
struct QueueDrain {
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
