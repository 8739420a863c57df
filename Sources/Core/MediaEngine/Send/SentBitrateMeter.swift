public import MediaCore

/// Measures the bitrate sent over the last second, in buckets of 100 ms.
public struct SentBitrateMeter: Sendable {
    private static let bucket: Int64 = 100_000_000
    private static let count: Int64 = 10
    private var buckets = InlineArray<10, Int>(repeating: 0)
    /// Of all buckets.
    private var total = 0
    private var newest: Int64 = .min

    public init() {}

    public mutating func note(bytes: Int, now: MediaInstant) {
        advance(now)
        buckets[Int(newest % Self.count)] &+= bytes
        total &+= bytes
    }

    public mutating func rate(now: MediaInstant) -> Bitrate {
        advance(now)
        return Bitrate(bitsPerSecond: total &* 8)
    }

    private mutating func advance(_ now: MediaInstant) {
        let index = max(now.nanoseconds, 0) / Self.bucket
        guard index > newest else { return }
        defer { newest = index }
        guard total > 0 else { return }
        for step in 0..<min(index &- newest, Self.count) {
            let place = Int((index &- step) % Self.count)
            total &-= buckets[place]
            buckets[place] = 0
        }
    }
}
