public import MediaCore

/// A 32-bit RTP time stamp in ticks of the payload's clock; it wraps (RFC 3550 section 5.1).
public struct RTPTimestamp: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Ticks from this one to `other` by the shorter way, -2^31...2^31 - 1; half way round counts as backwards.
    public func distance(to other: RTPTimestamp) -> Int {
        Int(Int32(bitPattern: other.rawValue &- rawValue))
    }

    public func isNewer(than other: RTPTimestamp) -> Bool { other.distance(to: self) > 0 }

    public func advanced(by ticks: Int) -> RTPTimestamp {
        RTPTimestamp(rawValue &+ UInt32(truncatingIfNeeded: ticks))
    }

    /// - Parameter clockRate: ticks in a second, above 0; 90,000 for video, 48,000 for Opus.
    public func advanced(by duration: MediaDuration, clockRate: Int) -> RTPTimestamp {
        advanced(by: Self.ticks(in: duration, clockRate: clockRate))
    }

    /// Returns the whole ticks in a duration, rounded towards minus infinity.
    public static func ticks(in duration: MediaDuration, clockRate: Int) -> Int {
        let (seconds, nanoseconds) = duration.nanoseconds.floorDivided(by: 1_000_000_000)
        return Int(seconds) &* clockRate &+ Int(nanoseconds) &* clockRate / 1_000_000_000
    }

    /// Returns the duration of so many ticks.
    public static func duration(ofTicks ticks: Int, clockRate: Int) -> MediaDuration {
        let rate = Int64(max(clockRate, 1))
        let (seconds, rest) = Int64(ticks).floorDivided(by: rate)
        return MediaDuration(nanoseconds: seconds &* 1_000_000_000 &+ rest &* 1_000_000_000 / rate)
    }
}

/// Converts time stamps to ticks that do not wrap.
public struct TimestampUnwrapper: Hashable, Sendable {
    /// The highest value so far; nil before the first.
    public private(set) var highest: Int64?

    public init() {}

    /// Returns the value nearest to the highest so far, which it may raise.
    public mutating func unwrap(_ timestamp: RTPTimestamp) -> Int64 {
        guard let last = highest else {
            highest = Int64(timestamp.rawValue)
            return Int64(timestamp.rawValue)
        }
        let step = RTPTimestamp(UInt32(truncatingIfNeeded: last)).distance(to: timestamp)
        let extended = last &+ Int64(step)
        if step > 0 { highest = extended }
        return extended
    }
}

extension Int64 {
    /// Returns the quotient rounded towards minus infinity, and the remainder, which is never negative.
    func floorDivided(by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient &- 1, rest &+ divisor) : (quotient, rest)
    }
}
