public import MediaCore

/// Decides when the publisher of a forwarded stream is told how slow its slow viewers are: at most once a second, after
/// a change of more than 5 %, and again after 5 s, as the publisher may have another session since.
public struct SlowestBitrateReporter: Sendable {
    /// What the publisher knows; nil: no viewer is notably slower than the fastest.
    public private(set) var reported: Bitrate?
    private var last: MediaInstant?

    private static let shortestInterval = MediaDuration.seconds(1)
    private static let longestInterval = MediaDuration.seconds(5)

    public init() {}

    /// - Parameter estimates: nil if nobody watches.
    /// - Returns: whether `reported` is to be sent now.
    public mutating func update(_ estimates: AudienceEstimates?, now: MediaInstant) -> Bool {
        let new = estimates?.slower
        let age = last.map { now - $0 }
        guard age ?? Self.shortestInterval >= Self.shortestInterval else { return false }
        let isOld = new != nil && age ?? Self.longestInterval >= Self.longestInterval
        guard isOld || isChange(to: new) else { return false }
        reported = new
        last = now
        return true
    }

    private func isChange(to new: Bitrate?) -> Bool {
        guard let new, let reported else { return new != reported }
        return abs(new.bitsPerSecond &- reported.bitsPerSecond) > reported.bitsPerSecond / 20
    }
}
