public import MediaCore

/// Limits the key frames and recovery frames that are made because one viewer asks (PLI, FIR, RPSI): the other viewers of the
/// encoding pay for each with bitrate. It is for all sessions of the viewer, and counts the key frames that they begin with.
///
/// Each grant costs time that only passing time pays back. A viewer that asks again and again gets key frames after 1, 1, 2, 4, 8, 8 s
/// and so on; one that needs a key frame every 8 s or less often never waits.
public struct KeyframeRequestLimiter: Sendable {
    public enum Frame: Sendable {
        case key
        /// A frame that refers to a kept one alone.
        case recovery

        var cost: MediaDuration { self == .key ? KeyframeRequestLimiter.period : .seconds(2) }
        var shortestPause: MediaDuration { self == .key ? .seconds(1) : .milliseconds(300) }
    }

    /// One key frame each, in the long run.
    static let period = MediaDuration.seconds(8)
    /// What is owed at most: nobody waits for longer than the longest pause.
    static let limit = MediaDuration.seconds(32)
    /// How long a request that was passed on may take effect before the next one is.
    static let echo = MediaDuration.milliseconds(100)

    /// At the last grant.
    private var debt = MediaDuration.zero
    private var last: MediaInstant?
    private var lastPassed: MediaInstant?

    public init() {}

    /// A viewer asks for a frame.
    /// - Parameters:
    ///   - isShared: others get the same encoding. Who is alone may have as many as the encoder makes.
    ///   - lacksPicture: it has shown nothing yet, so the frame that it began with was lost. As long as little is owed, it waits for 300 ms
    ///     at most, and such frames cost a quarter.
    /// - Returns: whether it is to be made. A refused request is forgotten: a viewer that still needs the frame asks again.
    public mutating func take(_ frame: Frame, isShared: Bool, lacksPicture: Bool = false, now: MediaInstant) -> Bool {
        guard isShared else {
            // The encoder has its own limit; but each request wakes it up.
            guard lastPassed.map({ now - $0 >= Self.echo }) ?? true else { return false }
            lastPassed = now
            return true
        }
        let owed = owed(now: now)
        let isUrgent = lacksPicture && owed < Self.period * 2
        if let last, now - last < (isUrgent ? Frame.recovery.shortestPause : pause(frame, owed: debt)) { return false }
        debt = min(owed + (isUrgent ? MediaDuration(nanoseconds: frame.cost.nanoseconds / 4) : frame.cost), Self.limit)
        last = now
        lastPassed = now
        return true
    }

    public func owesNothing(now: MediaInstant) -> Bool { owed(now: now) == .zero }

    private func owed(now: MediaInstant) -> MediaDuration {
        last.map { max(debt - (now - $0), .zero) } ?? .zero
    }

    /// After a grant that left so much owed.
    private func pause(_ frame: Frame, owed: MediaDuration) -> MediaDuration {
        // 8 s more owed, twice the pause.
        switch owed.nanoseconds / Self.period.nanoseconds {
        case ..<2: frame.shortestPause
        case 2: .seconds(2)
        case 3: .seconds(4)
        default: .seconds(8)
        }
    }
}
