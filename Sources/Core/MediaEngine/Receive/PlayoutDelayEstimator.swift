import MediaCore

/// Estimates the playout delay that an audio stream needs, from the lateness of its packets (compare libwebrtc's
/// `delay_manager.cc`): 0 to 200 ms.
struct PlayoutDelayEstimator {
    /// In milliseconds.
    private static let longest = 200.0

    private var lateness = LatenessHistogram()
    /// Arrival time minus stream time of the fastest packets, in milliseconds: in this period of 5 s, and in the one
    /// before.
    private var fastest: Double?
    private var fastestBefore: Double?
    private var periodStart = MediaInstant(nanoseconds: 0)
    /// When a packet last arrived in a RED block.
    private var lastCopy: MediaInstant?
    /// The playout delay.
    private(set) var milliseconds = 0.0

    /// Takes in the arrival of one packet.
    /// - Parameter time: the unwrapped timestamp, 48 kHz.
    mutating func note(_ time: Int64, now: MediaInstant) {
        let way = Double(now.nanoseconds) / 1e6 - Double(time) / 48
        if let known = fastest, abs(way - known) > 5_000 {
            // The sender's clock jumped by more than 5 s.
            fastest = nil
            fastestBefore = nil
            lateness = LatenessHistogram()
        }
        if fastest == nil { periodStart = now }
        if now - periodStart > .seconds(5) {
            periodStart = now
            fastestBefore = fastest
            fastest = way
        }
        fastest = min(fastest ?? way, way)
        lateness.note(way - base)
        // RED restores few packets, but each restored one avoids an audible gap, so the delay then covers 99 % of them.
        let hasCopies = lastCopy.map { now - $0 < .seconds(10) } ?? false
        milliseconds = min(lateness.quantile(hasCopies ? 0.99 : 0.97), Self.longest)
    }

    /// Takes in the arrival of one packet in a RED block.
    mutating func noteCopy(_ time: Int64, now: MediaInstant) {
        lastCopy = now
        note(time, now: now)
    }

    /// When the packet of this unwrapped timestamp is to be played.
    func playTime(_ time: Int64) -> MediaInstant {
        let milliseconds = base + Double(time) / 48 + self.milliseconds
        // Timestamps that keep jumping must not overflow the instant.
        return MediaInstant(nanoseconds: Int64(min(max(milliseconds, 0), 9e12) * 1e6))
    }

    private var base: Double { min(fastest ?? 0, fastestBefore ?? .infinity) }
}

/// Histogram of packet lateness in bins of 10 ms, with exponential forgetting (factor 0.996 a packet).
struct LatenessHistogram {
    private static let step = 10.0
    private var weights = [Double](repeating: 0, count: 22)
    private var sum = 0.0

    mutating func note(_ milliseconds: Double) {
        let index = min(max(Int(min(milliseconds, 1e6) / Self.step), 0), weights.count - 1)
        for i in weights.indices { weights[i] *= 0.996 }
        sum = sum * 0.996 + 1
        weights[index] += 1
    }

    /// The delay that this share of the packets meets, in milliseconds: the upper edge of the bin; 0 within the first
    /// bin.
    func quantile(_ share: Double) -> Double {
        guard sum > 0 else { return 0 }
        var covered = 0.0
        for (index, weight) in weights.enumerated() {
            covered += weight
            if covered >= share * sum { return Double(index) * Self.step + (index == 0 ? 0 : Self.step) }
        }
        return Double(weights.count) * Self.step
    }
}
