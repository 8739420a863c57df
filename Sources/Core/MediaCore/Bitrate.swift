/// A bitrate in bits per second.
public struct Bitrate: Hashable, Comparable, Sendable {
    public var bitsPerSecond: Int

    public init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

    /// A bitrate from the network: 0 to 1 Tbit/s.
    public init(unverified bitsPerSecond: Int) { self.init(bitsPerSecond: min(max(bitsPerSecond, 0), Self.largest)) }
    private static let largest = 1_000_000_000_000

    public static func kilobits(_ count: Int) -> Self { Self(bitsPerSecond: count &* 1_000) }

    public var kilobitsPerSecond: Int { bitsPerSecond / 1_000 }

    /// Returns the time that sending so many bytes takes.
    public func duration(ofBytes count: Int) -> MediaDuration {
        MediaDuration(nanoseconds: Int64(Double(count) * 8e9 / Double(max(bitsPerSecond, 1))))
    }

    public static func < (a: Self, b: Self) -> Bool { a.bitsPerSecond < b.bitsPerSecond }
}
