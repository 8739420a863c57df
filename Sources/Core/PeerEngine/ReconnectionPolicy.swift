public import MediaCore

/// Decides how a viewer reconnects to its host during an outage: by an ICE restart (RFC 9725 section 4.4) or a new
/// session, how long each attempt may take, and how long to wait before the next one.
///
/// A restart keeps the session and is tried first. A new session replaces it where the host does not support restarts
/// or has no such session any more, or where a restart from unchanged addresses led to no pair. ``OutageRecovery`` uses
/// this policy, and ends the outage after 30 s.
public struct ReconnectionPolicy: Sendable {
    public enum Attempt: Equatable, Sendable {
        case iceRestart, newSession
    }

    public enum Outcome: Equatable, Sendable {
        /// The host answered; media may follow.
        case answered
        /// The host refused the restart: it has no such session, or does not support restarts.
        case noSuchSession
        /// No process listens at the host's address, or the broadcast is gone.
        case refused
        case failed
    }

    public enum Step: Equatable, Sendable {
        /// Make the attempt; give up on its answer after `timeout`.
        case attempt(Attempt, timeout: MediaDuration)
        /// Wait for media. End the wait early if this machine's addresses change, if they are watched.
        case wait(MediaDuration, watchesAddresses: Bool)
        /// The host's program has ended.
        case hostIsGone
    }

    /// The number of refusals in a row that distinguishes an ended program from a restarting one.
    static let refusalLimit = 3
    static let retryInterval = MediaDuration.milliseconds(400)

    private var attempts = 0
    private var refusals = 0
    private var canRestart = true

    public init() {}

    /// Returns the next attempt.
    public mutating func begin() -> Step {
        attempts += 1
        return next
    }

    /// The first four answers are awaited for 2 s, because another address may work; later ones for 3 s, because the
    /// path may be slow.
    private var next: Step {
        .attempt(canRestart ? .iceRestart : .newSession, timeout: attempts <= 4 ? .seconds(2) : .seconds(3))
    }

    /// Handles the end of an attempt.
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

    /// Handles the end of the wait after an answered attempt, without media.
    /// - Parameter addressesChanged: this machine has other addresses than before the attempt, so a restart may
    ///   succeed.
    public mutating func noteNoMedia(addressesChanged: Bool) {
        canRestart = canRestart && addressesChanged
    }
}
