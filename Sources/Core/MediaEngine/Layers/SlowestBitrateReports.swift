public import MediaCore

/// What the relays that fetch a broadcast have told of their slowest viewers. A report holds until the next one of the
/// same relay, and for `lifetime`; ``SlowestBitrateReporter`` repeats it in half of that.
public struct SlowestBitrateReports: Sendable {
    private var reports: [String: (bitrate: Bitrate, deadline: MediaInstant)] = [:]

    public static let lifetime = MediaDuration.seconds(10)
    /// Relays of one cluster; further ones are ignored.
    static let capacity = 64

    public init() {}

    /// - Parameters:
    ///   - bitrate: nil: no viewer there is notably slower than the fastest there.
    ///   - relay: its name in the cluster.
    public mutating func note(_ bitrate: Bitrate?, from relay: String, now: MediaInstant) {
        expire(now: now)
        guard let bitrate, bitrate.bitsPerSecond > 0 else {
            reports[relay] = nil
            return
        }
        guard reports[relay] != nil || reports.count < Self.capacity else { return }
        reports[relay] = (bitrate, now + Self.lifetime)
    }

    /// Forgets what all other relays have told.
    public mutating func keep(_ relays: Set<String>) { reports = reports.filter { relays.contains($0.key) } }

    /// Of the relays whose reports still hold, in no order.
    public mutating func bitrates(now: MediaInstant) -> [Bitrate] {
        guard !reports.isEmpty else { return [] }
        expire(now: now)
        return reports.values.map(\.bitrate)
    }

    private mutating func expire(now: MediaInstant) { reports = reports.filter { $0.value.deadline > now } }
}
