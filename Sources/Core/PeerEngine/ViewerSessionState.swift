public import Identifiers
public import MediaCore

/// The logic of a viewer's session, as a value: knock, admission, redirect, other relays, recovery, return to the host,
/// end.
///
/// It has one connection whose media is shown, and at most one more, at another server, which replaces the former when
/// its first frame is there (make-before-break). A connection has at most one request in progress. The result of a
/// request returns as an input with the request's number; if that is not the connection's last request, it is ignored.
public struct ViewerSessionState<Failure: ViewerSessionFailure, Event: Sendable>: StateMachine {
    /// Limits by the session's sink and owner.
    public struct Rules: Sendable {
        /// The session goes on at another relay by itself.
        public var followsAlternates: Bool
        /// The sink can be handed to the connection to another server.
        public var handsSinkOver: Bool

        public init(followsAlternates: Bool, handsSinkOver: Bool) {
            (self.followsAlternates, self.handsSinkOver) = (followsAlternates, handsSinkOver)
        }
    }

    enum Phase {
        case initial, running
        /// Another relay is tried after a pause.
        case pausing(until: MediaInstant, next: Link, Failure)
        case over
    }

    /// How long a knock is repeated while the host's queue is full, or the server busy.
    static var knockTime: MediaDuration { .seconds(60) }
    static var queuePause: Int { 3 }
    /// The longest Retry-After that is waited for, in seconds.
    static var longestWait: Int { 30 }
    static var offerLimit: Int { 5 }
    /// How long the host's own reason is waited for after the end of the media. It comes on another connection.
    static var reasonTime: MediaDuration { .milliseconds(500) }

    /// The link that the user has named.
    public let home: Link
    let rules: Rules
    var phase = Phase.initial
    /// The connection whose media is shown.
    var present: Connection?
    var redirection: Redirection?
    var relays = AlternateRelays()
    /// Why the session elsewhere ended from which the viewer has come back; nil once it is connected.
    var formerEnd: Failure?
    /// How often the viewer has come back from elsewhere.
    var returns = 0
    /// Given by the last server, for other servers of the broadcast.
    var pass: String?
    /// Why this side ends the session; nil: it does not.
    var leaving: Failure?
    private var hold: BroadcastHold?
    private var isPublisherInterrupted = false
    private var lastNumber = 0

    public init(home: Link, rules: Rules) {
        self.home = home
        self.rules = rules
    }

    /// The number of the connection whose media is shown; nil before the first one.
    public var presentNumber: Int? { present?.number }

    /// The age of the last order that was followed since the knock at the host.
    public var followedAge: Int? { present?.followed }

    public var deadline: MediaInstant? {
        if case .pausing(let end, _, _) = phase { return end }
        guard case .running = phase else { return nil }
        return [present?.due, redirection?.due].compactMap(\.self).min()
    }

    public mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch (phase, input) {
        case (.over, _): return []
        case (.initial, .start):
            phase = .running
            return open(home)
        case (_, .leave(let reason)): return leave(reason)
        case (.running, _): return handleRunning(input, now, using: &generator)
        case (.initial, _), (.pausing, _): return []
        }
    }

    private mutating func handleRunning(
        _ input: Input, _ now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        switch input {
        case .result(let request, let result):
            if present?.request == request { return presentGot(result, now, using: &generator) }
            if redirection?.connection?.request == request { return redirectionGot(result, now, using: &generator) }
            return []
        case .told(let number, let word):
            guard present?.number == number, present?.takesOrders == true else { return [] }
            return follow(word, now, using: &generator)
        case .media(let source, let change, let event): return media(source, change, event, now)
        case .firstFrame(let number):
            return redirection?.connection?.number == number ? takeOver(now) : []
        case .ended(let number, let reason):
            if present?.number == number { return endPresent(reason, now) }
            return redirection?.connection?.number == number ? failRedirection(reason) : []
        case .recovery(let source, let request): return recover(source, request)
        case .report(let number, let event, let isOfAny):
            let isShown = present?.number == number || isOfAny && redirection?.connection?.number == number
            return isShown ? [.pass(event)] : []
        case .start, .leave: return []
        }
    }

    public mutating func advance(
        now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        if case .pausing(_, let next, let reason) = phase {
            phase = .running
            return goOn(at: next, reason)
        }
        return advancePresent(now) + advanceRedirection(now)
    }

    // MARK: Numbers

    mutating func takeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Requests something of the connection whose media is shown, in place of what was requested before.
    mutating func request(_ request: Request, _ stage: Connection.Stage) -> [Action] {
        guard let number = present?.number else { return [] }
        let id = takeNumber()
        present?.begin(stage, request: id)
        return [.request(id, of: number, request)]
    }

    // MARK: What the host and the media say

    private mutating func follow(
        _ word: HostWord, _ now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        guard let link = present?.link else { return [] }
        switch word {
        case .ended(let reason): return conclude(reason)
        case .alternates(let links):
            // A host with a tunnel sends none: the relay that passes its events would have made them up.
            if rules.followsAlternates, link.relay == nil { relays.note(links, using: &generator) }
        case .stopping: return relays.isEmpty ? [] : endPresent(Failure(.relayStops), now)
        case .redirect(let redirect):
            guard isWanted(redirect) else { return [] }
            present?.followed = redirect.age
            return redirectViewer(to: redirect.link, limit: Redirection.attempts, now)
        case .returnToHost:
            guard rules.handsSinkOver else { return [.returnViewers] }
            return link == home ? [] : redirectViewer(to: home, limit: Redirection.attempts, now)
        case .held(let hold):
            defer { self.hold = hold }
            if hold != self.hold { return [.tell(.broadcastHeld(hold))] }
        case .publisherInterrupted(let isInterrupted):
            defer { isPublisherInterrupted = isInterrupted }
            if isInterrupted != isPublisherInterrupted { return [.tell(.publisherInterrupted(isInterrupted))] }
        }
        return []
    }

    private mutating func media(
        _ source: Int, _ change: MediaChange, _ event: Event, _ now: MediaInstant
    ) -> [Action] {
        guard present?.media == source else {
            if redirection?.connection?.media == source, case .connected(let path) = change { redirection?.path = path }
            return []
        }
        switch change {
        case .connected:
            relays.noteConnected()
            formerEnd = nil
        case .waiting(let outage) where outage >= AlternateRelays.patience && !relays.isEmpty:
            guard case .open = present?.stage else { break }
            return [.pass(event)] + endPresent(Failure(.relayIsSilent), now)
        case .waiting, .other: break
        }
        return [.pass(event)]
    }

    private mutating func recover(_ source: Int, _ request: OutageRecovery.Request) -> [Action] {
        guard let present, present.media == source, case .open = present.stage else { return [] }
        switch request {
        case .attempt(let attempt, let timeout): return self.request(.attempt(attempt, timeout: timeout), .open)
        case .closeConnections: return [.closeConnections(of: present.number)]
        }
    }
}
