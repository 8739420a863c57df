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

/// The encrypted frames of the last second, to tell whether a viewer at a relay still sees one.
struct ShownSealedFrames {
    private struct Frame {
        let id: SealedFrameID
        let sealed: MediaInstant
    }

    /// The oldest first. The first one was encrypted over `ShownFrames.time` ago.
    private var frames: [Frame] = []
    private static let limit = 256

    mutating func note(_ id: SealedFrameID, now: MediaInstant) {
        frames.append(Frame(id: id, sealed: now))
        let old = frames.count { now - $0.sealed > ShownFrames.time }
        frames.removeFirst(max(old - 1, frames.count - Self.limit, 0))
    }

    /// Whether a frame has been replaced for over a second by the next one, or is none of this host.
    func isOutdated(_ id: SealedFrameID, now: MediaInstant) -> Bool {
        guard let place = frames.lastIndex(where: { $0.id == id }) else { return true }
        return place + 1 < frames.count && now - frames[place + 1].sealed > ShownFrames.time
    }
}

extension Broadcast {
    /// Whether the frame that an input aims at has been replaced for over a second by the next one.
    /// - Parameter sessions: of one viewer, as far as they are here.
    func isOutdated(_ input: AimedInput, of sessions: Set<SessionID>, now: MediaInstant) -> Bool {
        if let frame = input.sealed { return encryption?.isOutdated(frame, now: now) ?? false }
        guard let frame = input.frame, let limit = viewers.shownFrames.newestOutdating(now: now) else { return false }
        let oldest = sessions.compactMap { viewers[$0]?.sender.videoTimestamp(at: limit) }
        return !oldest.isEmpty && oldest.allSatisfy { RTPTimestamp(frame).distance(to: $0) > 0 }
    }
}
