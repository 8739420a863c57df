public import MediaCore

/// The moment a packet left, in 6.18 fixed point seconds of the sender's clock; wraps every 64 s.
///
///      0                   1                   2
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |  seconds  |         1 / 2^18 seconds          |
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
public struct AbsoluteSendTime: RawRepresentable, Hashable, Sendable {
    /// 24 bits.
    public let rawValue: UInt32

    /// Uses the low 24 bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// Only differences have a meaning, so any clock will do.
    public init(_ instant: MediaInstant) {
        let (seconds, nanoseconds) = instant.nanoseconds.floorDivided(by: 1_000_000_000)
        self.init(rawValue: UInt32(truncatingIfNeeded: seconds << 18 | (nanoseconds << 18) / 1_000_000_000))
    }

    /// The time from here to `other` by the shorter way, -32 s..<32 s.
    public func duration(to other: AbsoluteSendTime) -> MediaDuration {
        let units = Int64(Int32(bitPattern: (other.rawValue &- rawValue) << 8) >> 8)
        return MediaDuration(nanoseconds: (units &* 1_000_000_000) >> 18)
    }
}
