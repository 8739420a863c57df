public import MediaCore

/// Measures the bitrate sent over the last second, in buckets of 100 ms.
public struct SentBitrateMeter: Sendable {
    private static let bucket: Int64 = 100_000_000
    private static let count: Int64 = 10
    private var buckets = [Int](repeating: 0, count: Int(count))
    private var newest: Int64 = .min

    public init() {}

    public mutating func note(bytes: Int, now: MediaInstant) {
        advance(now)
        buckets[Int(newest % Self.count)] &+= bytes
    }

    public mutating func rate(now: MediaInstant) -> Bitrate {
        advance(now)
        return Bitrate(bitsPerSecond: buckets.reduce(0, &+) &* 8)
    }

    private mutating func advance(_ now: MediaInstant) {
        let index = max(now.nanoseconds, 0) / Self.bucket
        guard index > newest else { return }
        let steps = newest == .min ? Self.count : min(index &- newest, Self.count)
        for step in 0..<steps { buckets[Int((index &- step) % Self.count)] = 0 }
        newest = index
    }
}
