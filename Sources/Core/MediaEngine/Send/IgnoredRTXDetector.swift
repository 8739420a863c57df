import MediaCore

/// Detects a receiver that ignores RTX packets: it asks for packets whose RTX packets have arrived by its own feedback.
/// Pion 3 agrees to RTX, acknowledges RTX packets and drops them.
struct IgnoredRTXDetector {
    private static let most = 3
    /// NACKs for packets whose RTX packet had been acknowledged, and when the last one came.
    private var count = 0
    private var last: MediaInstant?

    /// A NACK asked for a packet whose RTX packet was acknowledged.
    /// - Returns: whether the receiver ignores RTX packets.
    mutating func note(now: MediaInstant) -> Bool {
        // Feedback and NACKs that overtake each other cause single cases.
        if let last, now - last > .seconds(5) { count = 0 }
        last = now
        count &+= 1
        return count >= Self.most
    }
}
