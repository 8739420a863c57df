/// Why a step of a viewer's session failed, or why the session ended.
public protocol ViewerSessionFailure: Sendable {
    var kind: ViewerSessionFailureKind { get }
    /// Whether too many knocks wait for the host's answer.
    var isQueueFull: Bool { get }
    /// Whether the server takes no more knocks of this address for now.
    var isRateLimited: Bool { get }
    /// When the server may be asked again, in seconds; nil: it has not said so.
    var retryAfter: Int? { get }

    init(_ cause: ViewerSessionCause)
}

/// What a failure means for the next step.
public enum ViewerSessionFailureKind: Sendable {
    /// This side ends the session, or an attempt that is not needed any more.
    case stopped
    case removed
    case hostEnded
    /// The host closed the media. Its event may give a better reason.
    case mediaClosed
    /// The server is unreachable, there is no path to it, or nothing comes from it any more.
    case lost
    case failed
    /// Nothing else is tried after it.
    case refused
}

/// The causes that the session finds by itself.
public enum ViewerSessionCause: Sendable {
    /// The relay is about to stop.
    case relayStops
    /// Nothing comes from a relay any more, and there are others.
    case relayIsSilent
    /// No frame came from another server in time.
    case noFrame
    /// An attempt at another server is not needed any more.
    case attemptEnded
}
