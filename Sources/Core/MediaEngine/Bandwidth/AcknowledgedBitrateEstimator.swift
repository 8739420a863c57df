import MediaCore

/// Measures the acknowledged bitrate: the bytes that arrived at the receiver over a sliding window of half a second (10
/// buckets of 50 ms on the receiver's clock). Takes the place of libwebrtc's `acknowledged_bitrate_estimator.cc`; there
/// is no Bayesian smoothing.
struct AcknowledgedBitrateEstimator {
    private static let bucket: Int64 = 50_000_000
    private static let count = 10
    private var buckets = InlineArray<10, Int>(repeating: 0)
    private var newest: Int64?
    private var oldest: Int64 = 0

    mutating func note(bytes: Int, at instant: MediaInstant) {
        let index = instant.nanoseconds / Self.bucket
        guard let last = newest else {
            newest = index
            oldest = index
            buckets[slot(index)] = bytes
            return
        }
        if index > last {
            for step in 1...min(index &- last, Int64(Self.count)) { buckets[slot(last &+ step)] = 0 }
            if index &- last >= Int64(Self.count) { oldest = index }
            if index &- last > Int64(Self.count) { buckets = InlineArray(repeating: 0) }
            newest = index
        } else if last &- index >= Int64(Self.count) {
            return
        }
        buckets[slot(index)] &+= bytes
    }

    /// The rate over the last half second in which anything arrived, or over the shorter time covered so far; nil while
    /// that is less than three buckets.
    var rate: Bitrate? {
        guard let newest else { return nil }
        let span = min(newest &- oldest &+ 1, Int64(Self.count))
        guard span >= 3 else { return nil }
        // The newest bucket is still filling, so it counts for half of its time.
        let seconds = (Double(span) - 0.5) * 0.05
        var bytes = 0
        for index in buckets.indices { bytes &+= buckets[index] }
        return Bitrate(bitsPerSecond: Int(Double(bytes) * 8 / seconds))
    }

    private func slot(_ index: Int64) -> Int {
        Int(((index % Int64(Self.count)) &+ Int64(Self.count)) % Int64(Self.count))
    }
}
