/// A token bucket: it refills at a constant rate up to its burst. A value without a clock.
///
/// The level counts nanoseconds of refilling, so that nothing is lost to rounding if a token takes a whole number of
/// them, as at all rates that divide 10^9.
public struct TokenBucket: Sendable {
    private let nanosecondsPerToken: Double
    private let full: Double
    private var level: Double
    private var filled: MediaInstant

    /// - Parameters:
    ///   - burst: how many tokens can be taken at once; the bucket begins full.
    ///   - rate: in tokens a second; above 0.
    public init(burst: Double, rate: Double, now: MediaInstant) {
        precondition(rate > 0, "a rate of \(rate) tokens a second")
        nanosecondsPerToken = 1e9 / rate
        full = burst * nanosecondsPerToken
        level = full
        filled = now
    }

    /// Adds the tokens since the last call. Time that goes back is ignored.
    public mutating func refill(_ now: MediaInstant) {
        guard now > filled else { return }
        level = min(full, level + Double((now - filled).nanoseconds))
        filled = now
    }

    /// Whether all tokens of the burst are there, as of the last `refill`.
    public func isFull() -> Bool { level >= full }
    /// Whether so many tokens are there, as of the last `refill`.
    public func has(_ tokens: Double = 1) -> Bool { level >= tokens * nanosecondsPerToken }
    /// Whether a token is there beside this share of the burst, as of the last `refill`.
    public func has(beside share: Double) -> Bool { level >= nanosecondsPerToken + share * full }
    /// Removes tokens, to be called after `has`: without it the level may fall below zero.
    public mutating func take(_ tokens: Double = 1) { level -= tokens * nanosecondsPerToken }
    /// Whole seconds until one token is available, at least 1.
    public var wait: Int { max(1, Int(((nanosecondsPerToken - level) / 1e9).rounded(.up))) }
}
