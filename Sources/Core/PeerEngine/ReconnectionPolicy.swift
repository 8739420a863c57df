public import MediaCore

/// Decides how a viewer gets back to its host during an outage: an ICE restart (RFC 9725 section 4.4) or a new session,
/// how long each attempt may take, and how long to wait before the next one.
///
/// A restart keeps the session and is tried first. A new session replaces it where the host knows no restart, has no
/// such session any more, or where a restart led nowhere from unchanged addresses. ``OutageRecovery`` asks it, and
/// ends the outage after 30 s.
public struct ReconnectionPolicy: Sendable {
    public enum Attempt: Equatable, Sendable {
        case iceRestart, newSession
    }

    public enum Outcome: Equatable, Sendable {
        /// The host answered; media may follow.
        case answered
        /// The host refused the restart, as it has no such session or knows no restarts.
        case noSuchSession
        /// Nothing listens at the host's address, or the broadcast is gone.
        case refused
        case failed
    }

    public enum Step: Equatable, Sendable {
        /// Make the attempt; give up on its answer after `timeout`.
        case attempt(Attempt, timeout: MediaDuration)
        /// Wait for media; end the wait early if this machine's addresses change, where that is watched.
        case wait(MediaDuration, watchesAddresses: Bool)
        /// The host's program has ended.
        case hostIsGone
    }

    /// Refusals in a row that tell an ended program from one that restarts.
    static let refusalLimit = 3
    static let retryInterval = MediaDuration.milliseconds(400)

    private var attempts = 0
    private var refusals = 0
    private var canRestart = true

    public init() {}

    /// The next attempt.
    public mutating func begin() -> Step {
        attempts += 1
        return next
    }

    /// The first four answers are awaited for 2 s, as another address may do; later ones for 3 s, as the path may be
    /// slow.
    private var next: Step {
        .attempt(canRestart ? .iceRestart : .newSession, timeout: attempts <= 4 ? .seconds(2) : .seconds(3))
    }

    /// The end of an attempt.
    public mutating func finish(_ attempt: Attempt, _ outcome: Outcome) -> Step {
        switch outcome {
        case .answered:
            refusals = 0
            return .wait(attempt == .iceRestart ? .seconds(3) : .seconds(4), watchesAddresses: true)
        case .noSuchSession where attempt == .iceRestart:
            canRestart = false
            return next
        case .noSuchSession, .failed:
            refusals = 0
        case .refused:
            refusals += 1
            if refusals >= Self.refusalLimit { return .hostIsGone }
        }
        return .wait(Self.retryInterval, watchesAddresses: false)
    }

    /// The wait after an answered attempt is over without media.
    /// - Parameter addressesChanged: this machine has other addresses than before the attempt, so a restart may lead
    ///   somewhere.
    public mutating func noteNoMedia(addressesChanged: Bool) {
        canRestart = canRestart && addressesChanged
    }
}
