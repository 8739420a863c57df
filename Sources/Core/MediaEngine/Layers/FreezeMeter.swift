public import MediaCore

/// How often and how long one viewer had to wait for a change of the picture before it was sent: because frames waited, or because it
/// got none of those that showed it. What happens to packets on their way is not in it, and a change that no frame shows yet is known
/// only when one does. A value; time is an argument.
public struct FreezeMeter: Sendable {
    /// Shorter waits are no freezes; the same limit as that of a receiver's.
    public static let limit = MediaDuration.milliseconds(150)

    private var count = 0
    private var time = MediaDuration.zero
    /// The first change that the viewer has not been sent.
    private var waitingSince: MediaInstant?
    /// The last frame that showed something new is not for it.
    private var lacksFrame = false
    private var lastLeft: MediaInstant?

    public init() {}

    /// A frame that shows what has changed since an instant is there, and waits to be sent to the viewer, or is not for it.
    public mutating func note(change: MediaInstant, isTaken: Bool) {
        // Who has no picture yet waits for its start.
        guard lastLeft != nil || isTaken else { return }
        waitingSince = min(waitingSince ?? change, change)
        lacksFrame = !isTaken
    }

    /// A frame has left whole.
    /// - Parameter hasMore: another one waits to be sent to the viewer.
    public mutating func noteLeft(hasMore: Bool, now: MediaInstant) {
        if let wait = wait(now) {
            count &+= 1
            time = time + wait
        }
        lastLeft = now
        if !hasMore, !lacksFrame { waitingSince = nil }
    }

    /// Waits over `limit`, and their sum; with the one that lasts.
    public func figures(now: MediaInstant) -> (count: Int, time: MediaDuration) {
        guard let wait = wait(now) else { return (count, time) }
        return (count &+ 1, time + wait)
    }

    /// Nil before the first frame, and for what is too short to count.
    private func wait(_ now: MediaInstant) -> MediaDuration? {
        guard let lastLeft, let waitingSince else { return nil }
        let wait = now - max(lastLeft, waitingSince)
        return wait > Self.limit ? wait : nil
    }
}
