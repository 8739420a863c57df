public import Admission
import HTTP
public import Identifiers
import Identity
import MediaCore

/// A broadcast that was added to a ``SignalingServer``, which keeps it: its secret, its delegate, its knocks,
/// admissions and event streams. Sends events to its viewers, ends it, and removes it. Safe from any thread.
///
/// Broadcasts share nothing but the server's counters: a token, ticket or session of one is unknown to all others.
public final class BroadcastResource: Sendable {
    let configuration: ServedBroadcastConfiguration
    let delegate: any SignalingServerDelegate
    let proof: Proof
    /// Of viewers that have found the broadcast on the local network; nil: they need the secret.
    let announcedProof: Proof?
    let admissions: AdmissionRegistry
    let knocks: KnockRegistry
    let endpoint: Endpoint
    let sockets: MessageSocketTable
    /// Encrypts what viewers write and may do; nil: no relay reads it.
    let sealing: EventSealing?
    private weak let table: BroadcastTable?

    /// - Parameter pollTimeout: how long a poll of a knock is held.
    init(
        _ configuration: ServedBroadcastConfiguration, delegate: any SignalingServerDelegate, pollTimeout: Duration,
        counters: SignalingCounters, in table: BroadcastTable?
    ) {
        self.configuration = configuration
        self.table = table
        self.delegate = delegate
        proof = Proof(id: configuration.id, secret: configuration.secret)
        announcedProof = configuration.isAnnounced ? Proof(id: configuration.id, secret: Link.announcedSecret) : nil
        admissions = AdmissionRegistry(fixedToken: configuration.fixedToken, limits: configuration.tokenLimits)
        var makeMark: (@Sendable () -> String)?
        if let key = configuration.passKey {
            let marks = MoveMark(configuration.id, key: key)
            makeMark = { marks.text(nonce: randomBytes(16), at: .secondsSince1970) }
        }
        endpoint = Endpoint(
            path: "/" + configuration.id.text,
            streams: EventStreams(capacity: configuration.eventStreamCapacity, makeMark: makeMark),
            rate: configuration.knockRate, iceServers: configuration.iceServers, turnSecret: configuration.turnSecret,
            counters: counters)
        sockets = MessageSocketTable(capacity: configuration.eventStreamCapacity)
        sealing = configuration.encryption?.sealsMessages == true ? EventSealing(delegate) : nil
        knocks = KnockRegistry(
            KnockApprovalHandler(
                delegate: delegate, secret: configuration.secret, admissions: admissions, counters: counters),
            KnockApprovalHandler.State(table: KnockTable(limits: configuration.knockLimits)), poll: pollTimeout)
    }

    public var id: BroadcastID { configuration.id }
    /// The link's secret, 16 bytes.
    public var secret: [UInt8] { configuration.secret }

    /// Tells viewers these STUN and TURN servers from now on, in place of those of the configuration.
    public func use(_ servers: [ICEServer]) { endpoint.use(servers) }

    /// Sends an event on every viewer's event stream. Never waits; a stream with 64 unread events is closed.
    public func send(_ event: HostEvent) {
        guard let sealing, event.isSealable else { return endpoint.countDropped(endpoint.streams.send(event)) }
        sendSealed(event, by: sealing)
    }

    /// Sends an event on the event streams of sessions and of their viewers. Streams that they open later begin with
    /// its lasting part.
    public func send(_ event: HostEvent, to sessions: [SessionID]) {
        let here = event.isSealable ? sealing?.passOn(event, to: sessions) ?? sessions : sessions
        send(event.serialized, admissions.keep(event, of: here))
    }

    private func send(_ text: String, _ owners: [SessionID: TokenHash]) {
        guard !owners.isEmpty else { return }
        if sealing != nil, HostEvent.isSealable(text) { return sendSealed(text, to: owners) }
        endpoint.countDropped(endpoint.streams.send(text, to: owners, shared: admissions.fixedToken))
    }

    /// Sends what was kept for a session before it was known, on the event streams of its viewer.
    func sendLasting(of session: SessionID) {
        guard let owner = admissions.session(session)?.token else { return }
        for text in admissions.lasting(of: session) { send(text, [session: owner]) }
    }

    /// Sends what was kept for a session, or for all sessions of a viewer, on one event stream. With the fixed token,
    /// the other sessions are those of others.
    func sendLasting(to owner: TokenHash, of session: SessionID?, on stream: Int) {
        guard session != nil || owner != admissions.fixedToken else { return }
        let events = session.map { admissions.lasting(of: $0) } ?? admissions.lasting(of: owner)
        endpoint.countDropped(endpoint.streams.send(sealed(events, for: owner), on: stream))
    }

    /// Passes keys on to viewers with these certificates. Streams that they open later begin with them.
    public func pass(_ keys: [MemberKeys]) {
        let sessions = admissions.sessions(of: keys.map(\.viewer))
        for entry in keys {
            if let own = sessions[entry.viewer] { send(.keys(entry.keys), to: own) }
        }
    }

    /// Withdraws what a viewer was granted, and sends it the `removed` event with `reason`: waits 250 ms at most until
    /// it is written. The viewer may knock again, and the delegate decides on that knock as on any other. Of a player
    /// with the fixed token, the certificate is refused until the broadcast ends. The delegate closes the sessions
    /// itself.
    public func remove(_ viewer: Viewer, reason: String) async {
        let tokens = admissions.withdraw(from: viewer)
        sockets.close(of: tokens, .unauthorized)
        await endpoint.streams.end(HostEvent.removed(reason: reason), of: tokens, limit: .milliseconds(250))
    }

    /// Removes the resource of a session that the host has ended.
    public func forget(_ session: SessionID) { admissions.end(session) }

    /// Media reaches the viewer of a session, so that it is no stranger to the TURN servers any more.
    public func noteMedia(of session: SessionID) { admissions.noteMedia(session) }

    /// Sends the `ended` event with `reason` to every viewer, and waits 1 s at most until it is written. Withdraws all
    /// knocks; nobody can join any more, and knocks and offers are answered with 410.
    public func end(reason: String) async {
        knocks.end()
        sockets.end()
        await endpoint.streams.end(HostEvent.ended(reason: reason), limit: .seconds(1))
    }

    /// Ends the broadcast as `end` does, and then removes it: its identifier is unknown from then on. May be called
    /// more than once. The delegate closes the sessions itself.
    public func remove(reason: String) async {
        await end(reason: reason)
        table?.remove(self)
    }
}
