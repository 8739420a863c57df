/// An instant of CLOCK_MONOTONIC, in nanoseconds. It is no time of day.
public struct MediaInstant: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Later than any other instant.
    public static let distantFuture = MediaInstant(nanoseconds: .max)

    public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
    public static func + (a: Self, b: MediaDuration) -> Self { Self(nanoseconds: a.nanoseconds &+ b.nanoseconds) }
    public static func - (a: Self, b: MediaDuration) -> Self { Self(nanoseconds: a.nanoseconds &- b.nanoseconds) }
    public static func - (a: Self, b: Self) -> MediaDuration {
        MediaDuration(nanoseconds: a.nanoseconds &- b.nanoseconds)
    }
}

/// A duration in nanoseconds; may be negative.
public struct MediaDuration: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static let zero = MediaDuration(nanoseconds: 0)
    public static func microseconds(_ count: Int) -> Self { Self(nanoseconds: Int64(count) &* 1_000) }
    public static func milliseconds(_ count: Int) -> Self { Self(nanoseconds: Int64(count) &* 1_000_000) }
    public static func seconds(_ count: Int) -> Self { Self(nanoseconds: Int64(count) &* 1_000_000_000) }

    public var inSeconds: Double { Double(nanoseconds) / 1e9 }
    public var inMilliseconds: Double { Double(nanoseconds) / 1e6 }

    public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
    public static func + (a: Self, b: Self) -> Self { Self(nanoseconds: a.nanoseconds &+ b.nanoseconds) }
    public static func - (a: Self, b: Self) -> Self { Self(nanoseconds: a.nanoseconds &- b.nanoseconds) }
    public static func * (a: Self, b: Int64) -> Self { Self(nanoseconds: a.nanoseconds &* b) }
}
