/// How often delays were how long, in ranges that double. Takes constant memory; allocates only in `init`.
public struct DelayHistogram: Sendable, Equatable {
    /// The number of ranges with an upper end; longer delays are in one range more.
    public static let limited = 13
    /// How many there are of each range.
    public private(set) var counts = [Int](repeating: 0, count: limited + 1)
    public private(set) var sum = MediaDuration.zero

    public init() {}

    /// The upper end of a range, exclusive: 64 us, 128 us and so on to 262 ms.
    public static func limit(_ range: Int) -> MediaDuration { .microseconds(64 << range) }

    public var count: Int { counts.reduce(0, +) }

    /// A negative delay counts as none.
    public mutating func note(_ delay: MediaDuration) {
        let units = UInt64(max(delay.nanoseconds, 0)) / 64_000
        counts[min(64 &- units.leadingZeroBitCount, Self.limited)] &+= 1
        sum = sum + max(delay, .zero)
    }

    /// Takes in what another one has noted.
    public mutating func add(_ other: DelayHistogram) {
        for range in counts.indices { counts[range] &+= other.counts[range] }
        sum = sum + other.sum
    }

    public mutating func removeAll() {
        for range in counts.indices { counts[range] = 0 }
        sum = .zero
    }
}
