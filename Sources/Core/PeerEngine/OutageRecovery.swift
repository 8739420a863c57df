public import MediaCore

/// Controls a viewer's recovery from outages of its session: reports how long an outage lasts, requests one
/// reconnection attempt after the other (`ReconnectionPolicy`), and ends the session when the host is gone or no packet
/// arrived for `MediaLiveness.limit`.
///
/// Media over any pair or session ends an outage. An attempt that is in progress then is awaited.
public struct OutageRecovery: Sendable {
    public enum Input: Sendable {
        /// No packet has arrived since `lastHeard`.
        case interrupted(lastHeard: MediaInstant)
        /// Authentic media arrived, or a session that replaces the lost one is connected.
        case heard
        /// The requested attempt has ended.
        case attemptEnded(AttemptResult)
        /// The deadline has passed.
        /// - Parameter addressesChanged: this machine has other addresses than when the last attempt began; needed
        ///   while `watchesAddresses`.
        case timeout(addressesChanged: Bool)
        /// The host's event stream was refused so often that its program may have ended (`EventStreamBackoff`).
        /// - Parameter silence: the time since the newest session was heard.
        case eventStreamRefused(silence: MediaDuration)
        /// No candidate pair was found for the newest session in time.
        case noPair
    }

    /// A request to the owner of the signalling connection.
    public enum Request: Sendable {
        /// Make the attempt, and tell its result (`attemptEnded`).
        case attempt(ReconnectionPolicy.Attempt, timeout: MediaDuration)
        /// Close the connections from before the outage.
        case closeConnections
    }

    /// The result of an attempt's signalling.
    public enum AttemptResult: Equatable, Sendable {
        /// The host answered; media may follow.
        case answered
        /// The host has no such session; as the result of an offer, no such broadcast.
        case gone
        /// The host refused the description.
        case offerRefused
        /// No process listens at the host's address.
        case connectionRefused
        /// The host does not admit this viewer any more.
        case notAdmitted
        /// There was no answer in time, or an unusable one, or this machine has no address.
        case failed
    }

    public enum Action: Equatable, Sendable {
        /// Report that the outage has lasted for this long.
        case report(MediaDuration)
        /// Make the attempt, and give up on its answer after `timeout`. Call with `.attemptEnded` afterwards.
        case attempt(ReconnectionPolicy.Attempt, timeout: MediaDuration)
        /// The host is heard again, and no attempt is in progress. Drop an unanswered restart, and close the signalling
        /// connections from before the outage, which may be dead.
        case cleanUp
        case end(End)
    }

    public enum End: Equatable, Sendable {
        /// No packet arrived for `MediaLiveness.limit`.
        case silence
        /// The host's program has ended.
        case hostIsGone
        /// The host's answer to the last attempt rules out another one.
        case refused
        case noPair
    }

    private enum State {
        case idle
        case attempting(ReconnectionPolicy.Attempt)
        case waiting(until: MediaInstant, watchesAddresses: Bool)
        case over
    }

    /// The silence beyond which a refused event stream means that the host is gone.
    static let refusalSilence = MediaDuration.seconds(1)
    /// How often this machine's addresses are compared.
    static let addressInterval = MediaDuration.milliseconds(100)

    private var state = State.idle
    private var policy = ReconnectionPolicy()
    /// When the host was last heard before the present outage; nil while there is none.
    private var lastHeard: MediaInstant?
    private var nextReport: MediaInstant?
    private var nextLook: MediaInstant?

    public init() {}

    public var isInterrupted: Bool { lastHeard != nil }

    /// Returns how long the present outage has lasted; nil without an outage.
    public func outage(_ now: MediaInstant) -> MediaDuration? { lastHeard.map { now - $0 } }

    /// Whether `.timeout` has to say if this machine's addresses have changed.
    public var watchesAddresses: Bool { if case .waiting(_, true) = state { true } else { false } }

    /// When to call with `.timeout`; nil for never.
    public var deadline: MediaInstant? {
        switch state {
        case .over: nil
        case .waiting(let end, _): [end, nextReport, nextLook].compactMap(\.self).min()
        case .idle, .attempting: nextReport
        }
    }

    /// - Returns: the actions to perform, in this order.
    public mutating func handle(_ input: Input, now: MediaInstant) -> [Action] {
        if case .over = state { return [] }
        switch input {
        case .interrupted(let lastHeard): return interrupt(lastHeard, now)
        case .heard: return resume()
        case .attemptEnded(let result): return finish(result, now)
        case .timeout(let addressesChanged): return timeout(addressesChanged, now)
        case .eventStreamRefused(let silence):
            return isInterrupted || silence > Self.refusalSilence ? end(.hostIsGone) : []
        // The session that was to replace the lost one found no pair; the next attempt may.
        case .noPair: return isInterrupted ? [] : end(.noPair)
        }
    }

    // MARK: The outage

    private mutating func interrupt(_ lastHeard: MediaInstant, _ now: MediaInstant) -> [Action] {
        guard !isInterrupted else { return [] }
        self.lastHeard = lastHeard
        let actions = report(since: lastHeard, now)
        guard case .idle = state else { return actions }
        policy = ReconnectionPolicy()
        return actions + perform(policy.begin(), now)
    }

    private mutating func resume() -> [Action] {
        guard isInterrupted else { return [] }
        lastHeard = nil
        nextReport = nil
        guard case .waiting = state else { return [] }
        return cleanUp()
    }

    private mutating func cleanUp() -> [Action] {
        state = .idle
        return [.cleanUp]
    }

    private mutating func end(_ reason: End) -> [Action] {
        state = .over
        return [.end(reason)]
    }

    /// Reports at whole seconds, as the duration is shown in seconds.
    private mutating func report(since lastHeard: MediaInstant, _ now: MediaInstant) -> [Action] {
        let outage = now - lastHeard
        guard outage < MediaLiveness.limit else { return end(.silence) }
        nextReport = lastHeard + .seconds(Int(outage.nanoseconds / 1_000_000_000) + 1)
        return [.report(outage)]
    }

    private mutating func timeout(_ addressesChanged: Bool, _ now: MediaInstant) -> [Action] {
        var actions: [Action] = []
        if let lastHeard, let nextReport, now >= nextReport { actions = report(since: lastHeard, now) }
        guard case .waiting(let end, let watchesAddresses) = state else { return actions }
        let hasMoved = watchesAddresses && addressesChanged
        guard hasMoved || now >= end else {
            if watchesAddresses { nextLook = now + Self.addressInterval }
            return actions
        }
        if watchesAddresses { policy.noteNoMedia(addressesChanged: hasMoved) }
        return actions + perform(policy.begin(), now)
    }

    // MARK: Attempts

    private mutating func finish(_ result: AttemptResult, _ now: MediaInstant) -> [Action] {
        guard case .attempting(let attempt) = state else { return [] }
        let outcome: ReconnectionPolicy.Outcome
        switch (result, attempt) {
        case (.answered, _): outcome = .answered
        case (.gone, .iceRestart), (.offerRefused, .iceRestart): outcome = .noSuchSession
        case (.gone, .newSession), (.notAdmitted, .newSession): return end(.refused)
        case (.connectionRefused, _): outcome = .refused
        case (.offerRefused, .newSession), (.notAdmitted, .iceRestart), (.failed, _): outcome = .failed
        }
        guard isInterrupted else { return cleanUp() }
        return perform(policy.finish(attempt, outcome), now)
    }

    private mutating func perform(_ step: ReconnectionPolicy.Step, _ now: MediaInstant) -> [Action] {
        switch step {
        case .attempt(let attempt, let timeout):
            state = .attempting(attempt)
            return [.attempt(attempt, timeout: timeout)]
        case .wait(let time, let watchesAddresses):
            state = .waiting(until: now + time, watchesAddresses: watchesAddresses)
            nextLook = watchesAddresses ? now + Self.addressInterval : nil
            return []
        case .hostIsGone: return end(.hostIsGone)
        }
    }
}
