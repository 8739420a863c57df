public import MediaCore

/// Detects that all flows of a sender are limited by one bottleneck, which then is the sender's own line.
///
/// RFC 8382 compares statistics of the one-way delay, which needs packets at a steady rate. This detector goes by the
/// bandwidth estimates, as a screen sends few: flows of this engine converge to about equal rates in a bottleneck that
/// they share (RFC 8867 section 5.4), and are limited at the same time. Receivers whose own lines are slow and about
/// equal look the same.
public struct SharedBottleneckDetector: Sendable {
    /// One flow, with what it can get at present.
    public struct Flow: Equatable, Sendable {
        public var estimate: Bitrate
        /// The bandwidth limits what is sent (``QualityLimitationReason``).
        public var isLimited: Bool

        public init(estimate: Bitrate, isLimited: Bool) {
            self.estimate = estimate
            self.isLimited = isLimited
        }
    }

    /// How long all flows have been limited alike; other times subtract.
    private var evidence = MediaDuration.zero
    private var last: MediaInstant?

    /// After that, the bottleneck counts as shared.
    public static let evidenceTime = MediaDuration.seconds(10)
    /// The highest estimate is at most so many times the lowest.
    static let ratio = 1.75
    /// A longer pause between two calls counts as this.
    private static let longestStep = MediaDuration.seconds(2)

    public init() {}

    /// Takes in the flows. Called about once a second.
    /// - Parameter flows: one for each receiver's line.
    /// - Returns: whether the bottleneck is shared. Then the detector begins anew.
    public mutating func update(_ flows: [Flow], now: MediaInstant) -> Bool {
        let step = last.map { min(max(now - $0, .zero), Self.longestStep) } ?? .zero
        last = now
        evidence = Self.areLimitedAlike(flows) ? evidence + step : max(evidence - step, .zero)
        guard evidence >= Self.evidenceTime else { return false }
        self = SharedBottleneckDetector()
        return true
    }

    private static func areLimitedAlike(_ flows: [Flow]) -> Bool {
        let rates = flows.lazy.map { Double($0.estimate.bitsPerSecond) }
        guard flows.count > 1, flows.allSatisfy(\.isLimited), let low = rates.min(), let high = rates.max() else {
            return false
        }
        return high <= low * ratio
    }
}
