public import MediaCore

/// Limits the key frames and recovery frames made on requests of one viewer (PLI, FIR, RPSI), as the other viewers of
/// the encoding pay for each with bitrate. One limiter serves all sessions of the viewer, and also counts the key
/// frames that they begin with.
///
/// A leaky bucket in units of time: each granted frame raises the level by its cost, and the level falls by 1 s per
/// second. A viewer that asks again and again gets key frames after 1, 1, 2, 4, 8, 8 s and so on. A viewer that needs a
/// key frame every 8 s or less often never waits.
public struct KeyframeRequestLimiter: Sendable {
    /// The kind of frame that is requested.
    public enum Frame: Sendable {
        case key
        /// A frame predicted from a long-term reference alone.
        case recovery

        var cost: MediaDuration { self == .key ? KeyframeRequestLimiter.period : .seconds(2) }
        var shortestPause: MediaDuration { self == .key ? .seconds(1) : .milliseconds(300) }
    }

    /// The average interval of key frames, and the debt of one.
    static let period = MediaDuration.seconds(8)
    /// Upper bound of the debt, so that no pause exceeds the longest one.
    static let limit = MediaDuration.seconds(32)
    /// Pause after a request was passed on to the encoder, in which further requests are dropped.
    static let minimumForwardInterval = MediaDuration.milliseconds(100)

    /// At the last grant.
    private var debt = MediaDuration.zero
    private var last: MediaInstant?
    private var lastPassed: MediaInstant?

    public init() {}

    /// Decides on a request for a frame.
    /// - Parameters:
    ///   - isShared: other viewers get the same encoding. A single viewer may have as many frames as the encoder makes.
    ///   - hasShownNoFrame: the viewer has shown no frame yet, so the frame that it began with was lost. With a debt
    ///     below 16 s it then waits for 300 ms at most, and the frame costs a quarter.
    /// - Returns: whether to make the frame. A refused request is not remembered: a viewer that still needs the frame
    ///   asks again.
    public mutating func allows(
        _ frame: Frame, isShared: Bool, hasShownNoFrame: Bool = false, now: MediaInstant
    ) -> Bool {
        guard isShared else {
            // The encoder has a limit of its own, but each request wakes it up.
            guard lastPassed.map({ now - $0 >= Self.minimumForwardInterval }) ?? true else { return false }
            lastPassed = now
            return true
        }
        let owed = owed(now: now)
        let isUrgent = hasShownNoFrame && owed < Self.period * 2
        if let last, now - last < (isUrgent ? Frame.recovery.shortestPause : pause(frame, owed: debt)) { return false }
        debt = min(owed + (isUrgent ? MediaDuration(nanoseconds: frame.cost.nanoseconds / 4) : frame.cost), Self.limit)
        last = now
        lastPassed = now
        return true
    }

    /// Whether the debt is paid back.
    public func isBucketEmpty(now: MediaInstant) -> Bool { owed(now: now) == .zero }

    private func owed(now: MediaInstant) -> MediaDuration {
        last.map { max(debt - (now - $0), .zero) } ?? .zero
    }

    /// The pause after a grant that left the debt `owed`.
    private func pause(_ frame: Frame, owed: MediaDuration) -> MediaDuration {
        // Each 8 s more of debt double the pause.
        switch owed.nanoseconds / Self.period.nanoseconds {
        case ..<2: frame.shortestPause
        case 2: .seconds(2)
        case 3: .seconds(4)
        default: .seconds(8)
        }
    }
}
