import MediaCore

/// Limits the processing that the RTCP messages of one peer cause, whatever counts they claim: a `TokenBucket` of work
/// units.
///
/// A unit is about the cost of one packet status in transport-wide feedback. An honest peer stays far below the limit:
/// at 10,000 packets/s it causes about 11,000 units/s.
struct RTCPWorkLimiter {
    /// Units per second.
    private static let rate = 50_000.0
    /// Units that can be spent at once.
    private static let burst = 25_000.0
    /// Units for any RTCP packet, for each report block or bandwidth estimate in it, and for a transport-wide feedback
    /// message (without its statuses).
    static let (packet, block, feedback) = (4, 8, 16)

    private var bucket: TokenBucket
    /// The present datagram contained transport-wide feedback already.
    private var hasFeedback = false

    init(now: MediaInstant) { bucket = TokenBucket(burst: Self.burst, rate: Self.rate, now: now) }

    mutating func beginDatagram() { hasFeedback = false }

    /// - Returns: true for the first transport-wide feedback message of a datagram; only that one is used.
    mutating func takeFeedback() -> Bool {
        defer { hasFeedback = true }
        return !hasFeedback
    }

    /// Spends units of work.
    /// - Returns: false if fewer are left; none are then spent.
    mutating func take(_ units: Int, now: MediaInstant) -> Bool {
        bucket.refill(now)
        guard bucket.has(Double(units)) else { return false }
        bucket.take(Double(units))
        return true
    }
}
