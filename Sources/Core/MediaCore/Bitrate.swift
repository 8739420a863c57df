/// A bitrate in bits per second.
public struct Bitrate: Hashable, Comparable, Sendable {
    public var bitsPerSecond: Int

    public init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }
    public static func kilobits(_ count: Int) -> Self { Self(bitsPerSecond: count &* 1_000) }

    public var kilobitsPerSecond: Int { bitsPerSecond / 1_000 }

    /// Returns the time that sending so many bytes takes.
    public func duration(ofBytes count: Int) -> MediaDuration {
        MediaDuration(nanoseconds: Int64(Double(count) * 8e9 / Double(max(bitsPerSecond, 1))))
    }

    public static func < (a: Self, b: Self) -> Bool { a.bitsPerSecond < b.bitsPerSecond }
}
