import MediaCore

/// Limits the work that the RTCP messages of one peer make, whatever they claim: a token bucket of work units.
///
/// A unit is about the cost of looking at one status of transport-wide feedback. An honest peer stays far below the limit:
/// at 10,000 packets a second it causes about 11,000 units a second.
struct RTCPWorkLimiter {
    /// Units a second.
    static let rate: Int64 = 50_000
    /// Units that may be spent at once.
    static let burst: Int64 = 25_000
    /// Of any RTCP packet, of a report block or bandwidth estimate in it, and of a transport-wide feedback message beside its statuses.
    static let (packet, block, feedback) = (4, 8, 16)

    /// In nanoseconds of refilling, so that nothing is lost by rounding.
    private var credit = burst * nanosecondsPerUnit
    private var filled: MediaInstant
    private static let nanosecondsPerUnit = 1_000_000_000 / rate

    init(now: MediaInstant) { filled = now }

    /// Spends units of work.
    /// - Returns: false if there are not as many; nothing was spent then.
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
