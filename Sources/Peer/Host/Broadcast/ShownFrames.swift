import Identifiers
import MediaCore
import MediaEngine
import RTPWire

/// The frames of the last second, to tell whether a viewer still sees one.
struct ShownFrames {
    /// When each was captured, the oldest first. The first one was captured over `time` ago.
    private var captured: [MediaInstant] = []

    /// For how long a viewer may aim at a frame that another one has replaced.
    static let time = MediaDuration.seconds(1)
    private static let limit = 256

    mutating func note(_ instant: MediaInstant, now: MediaInstant) {
        captured.append(instant)
        let old = captured.count { now - $0 > Self.time }
        captured.removeFirst(max(old - 1, captured.count - Self.limit, 0))
    }

    /// The frame that was the newest one a second ago: older ones are not shown any more since then.
    func newestOutdating(now: MediaInstant) -> MediaInstant? { captured.last { now - $0 > Self.time } }
}

extension Broadcast {
    /// Whether a frame has been replaced for over a second by the next one.
    /// - Parameters:
    ///   - frame: the RTP timestamp of a frame that one of these sessions has got.
    ///   - sessions: of one viewer.
    func isOutdated(_ frame: UInt32, of sessions: Set<SessionID>, now: MediaInstant) -> Bool {
        guard let limit = viewers.shownFrames.newestOutdating(now: now) else { return false }
        let oldest = sessions.compactMap { viewers[$0]?.sender.videoTimestamp(at: limit) }
        return !oldest.isEmpty && oldest.allSatisfy { RTPTimestamp(frame).distance(to: $0) > 0 }
    }
}
