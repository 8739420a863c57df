public import MediaCore

/// Counts the freezes that the host causes to one viewer: times between a change of the screen and the frame that shows
/// it, because of a backlog or because frames were dropped for this viewer. Loss and delay on the network are not
/// included. A change that no frame shows yet is only known once one does. A value; time is an argument.
public struct FreezeMeter: Sendable {
    /// Shorter waits are no freezes. The receiver uses the same limit.
    public static let limit = MediaDuration.milliseconds(150)

    private var count = 0
    private var time = MediaDuration.zero
    /// When the oldest change happened that the viewer was not sent.
    private var waitingSince: MediaInstant?
    /// The last frame with a change was dropped for this viewer.
    private var lacksFrame = false
    private var lastFrameSent: MediaInstant?

    public init() {}

    /// Takes in a new frame.
    /// - Parameters:
    ///   - change: when the oldest change that it shows happened.
    ///   - isTaken: the frame waits to be sent to the viewer; false if it was dropped.
    public mutating func note(change: MediaInstant, isTaken: Bool) {
        // Before its first frame a viewer cannot see a freeze.
        guard lastFrameSent != nil || isTaken else { return }
        waitingSince = min(waitingSince ?? change, change)
        lacksFrame = !isTaken
    }

    /// The last packet of a frame was sent.
    /// - Parameter hasMore: another frame waits to be sent to the viewer.
    public mutating func noteFrameSent(hasMore: Bool, now: MediaInstant) {
        if let wait = wait(now) {
            count &+= 1
            time = time + wait
        }
        lastFrameSent = now
        if !hasMore, !lacksFrame { waitingSince = nil }
    }

    /// The host has paused: nothing is waited for any more.
    public mutating func notePause(now: MediaInstant) {
        (count, time) = figures(now: now)
        noteResumption()
    }

    /// The host continues. What was dropped during the pause was not waited for.
    public mutating func noteResumption() {
        waitingSince = nil
        lacksFrame = false
    }

    /// The number of freezes over `limit` and their sum, with the present one.
    public func figures(now: MediaInstant) -> (count: Int, time: MediaDuration) {
        guard let wait = wait(now) else { return (count, time) }
        return (count &+ 1, time + wait)
    }

    /// The present wait; nil before the first frame, and if it is not over `limit`.
    private func wait(_ now: MediaInstant) -> MediaDuration? {
        guard let lastFrameSent, let waitingSince else { return nil }
        let wait = now - max(lastFrameSent, waitingSince)
        return wait > Self.limit ? wait : nil
    }
}
