import MediaCore

/// Times of relayed media on this machine's media clock. Tracks keep the distance that the publisher's sender reports
/// give them, whatever the publisher's wall clock says. A value without a clock of its own.
struct RelayClock {
    /// A track that has no sender report yet goes by its arrival and its RTP timestamps.
    private struct Track {
        var timestamp: UInt32
        var instant: MediaInstant
    }

    private var tracks: [Int: Track] = [:]
    /// From the publisher's clock to this one.
    private var offset: MediaDuration?

    /// Publisher's times that are farther from the arrival are not believed.
    private static let farthest = MediaDuration.seconds(10)

    /// - Parameters:
    ///   - rate: ticks of `timestamp` a second.
    ///   - captured: by the publisher's sender reports; nil before the first.
    /// - Returns: when it was captured; later than what came before on the track, unless that is too far ahead of now.
    mutating func instant(
        track: Int, timestamp: UInt32, rate: Int64, captured: MediaInstant?, now: MediaInstant
    ) -> MediaInstant {
        let last = tracks[track]
        let elapsed = last.map { Int64(Int32(bitPattern: timestamp &- $0.timestamp)) * 1_000_000_000 / rate } ?? 0
        var instant = last.map { $0.instant + MediaDuration(nanoseconds: elapsed) } ?? now
        if let captured {
            if let offset, Self.isNear(captured + offset, now) {
                instant = captured + offset
            } else {
                if !Self.isNear(instant, now) { instant = now }
                offset = instant - captured
            }
        } else if !Self.isNear(instant, now) {
            instant = now
        }
        if let last, Self.isNear(last.instant, now) { instant = max(instant, last.instant + .milliseconds(1)) }
        tracks[track] = Track(timestamp: timestamp, instant: instant)
        return instant
    }

    private static func isNear(_ instant: MediaInstant, _ now: MediaInstant) -> Bool {
        let distance = instant - now
        return distance < farthest && MediaDuration.zero - distance < farthest
    }
}
