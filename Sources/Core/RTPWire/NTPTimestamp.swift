public import MediaCore

/// A time of day as RTCP carries it: seconds since 1900 in 32.32 fixed point; wraps in 2036 (RFC 3550 section 4).
public struct NTPTimestamp: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(seconds: UInt32, fraction: UInt32) { rawValue = UInt64(seconds) << 32 | UInt64(fraction) }

    /// Converts a POSIX time: seconds since 1970 and 0..<1,000,000,000 nanoseconds.
    public init(unixSeconds: Int64, nanoseconds: Int64) {
        let seconds = UInt32(truncatingIfNeeded: unixSeconds &+ 2_208_988_800)
        self = NTPTimestamp(seconds: seconds, fraction: 0).advanced(by: MediaDuration(nanoseconds: nanoseconds))
    }

    public var seconds: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
    /// In 1/2^32 of a second.
    public var fraction: UInt32 { UInt32(truncatingIfNeeded: rawValue) }
    /// The middle 32 bits, 16.16, as LSR in report blocks.
    public var middle: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }

    public func advanced(by duration: MediaDuration) -> NTPTimestamp {
        let (seconds, nanoseconds) = duration.nanoseconds.floorDivided(by: 1_000_000_000)
        let fraction = (UInt64(bitPattern: nanoseconds) << 32) / 1_000_000_000
        return NTPTimestamp(rawValue: rawValue &+ UInt64(bitPattern: seconds) << 32 &+ fraction)
    }

    /// The time from this one to `other`, within 68 years; correct across the wrap.
    public func duration(to other: NTPTimestamp) -> MediaDuration {
        let difference = Int64(bitPattern: other.rawValue &- rawValue)
        let seconds = difference >> 32
        let fraction = difference & 0xFFFF_FFFF
        return MediaDuration(nanoseconds: seconds &* 1_000_000_000 &+ (fraction &* 1_000_000_000) >> 32)
    }

    /// Returns a duration in 1/65536 s, as in DLSR; negative ones become 0, and those over 18 hours are clamped.
    public static func shortInterval(_ duration: MediaDuration) -> UInt32 {
        let (seconds, nanoseconds) = max(duration, .zero).nanoseconds.floorDivided(by: 1_000_000_000)
        guard seconds <= 0xFFFF else { return .max }
        return UInt32(truncatingIfNeeded: seconds << 16 | (nanoseconds << 16) / 1_000_000_000)
    }

    /// Returns the duration of `count` units of 1/65536 s.
    public static func duration(ofShortInterval count: UInt32) -> MediaDuration {
        MediaDuration(nanoseconds: (Int64(count) &* 1_000_000_000) >> 16)
    }
}
