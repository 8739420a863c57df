import MediaCore

/// Limits the processing that the RTCP messages of one peer cause, whatever counts they claim: a token bucket of work
/// units.
///
/// A unit is about the cost of one packet status in transport-wide feedback. An honest peer stays far below the limit:
/// at 10,000 packets/s it causes about 11,000 units/s.
struct RTCPWorkLimiter {
    /// Units per second.
    static let rate: Int64 = 50_000
    /// Units that can be spent at once.
    static let burst: Int64 = 25_000
    /// Units for any RTCP packet, for each report block or bandwidth estimate in it, and for a transport-wide feedback
    /// message (without its statuses).
    static let (packet, block, feedback) = (4, 8, 16)

    /// In nanoseconds of refilling, so that rounding loses nothing.
    private var credit = burst * nanosecondsPerUnit
    private var filled: MediaInstant
    /// The present datagram contained transport-wide feedback already.
    private var hasFeedback = false
    private static let nanosecondsPerUnit = 1_000_000_000 / rate

    init(now: MediaInstant) { filled = now }

    mutating func beginDatagram() { hasFeedback = false }

    /// - Returns: true for the first transport-wide feedback message of a datagram; only that one is used.
    mutating func takeFeedback() -> Bool {
        defer { hasFeedback = true }
        return !hasFeedback
    }

    /// Spends units of work.
    /// - Returns: false if fewer are left; none are then spent.
    mutating func take(_ units: Int, now: MediaInstant) -> Bool {
        let full = Self.burst &* Self.nanosecondsPerUnit
        if now > filled {
            credit = min(full, credit &+ min((now - filled).nanoseconds, full))
            filled = now
        }
        let cost = Int64(units) &* Self.nanosecondsPerUnit
        guard cost <= credit else { return false }
        credit &-= cost
        return true
    }
}
