import Admission
import HTTP
import Identifiers
import Identity
import MediaCore
import Synchronization

/// One broadcast of a server: its secret, its delegate, its knocks, admissions and event streams. Safe from any thread.
///
/// Broadcasts share nothing but the server's counters: a token, ticket or session of one is unknown to all others.
final class BroadcastResource: Sendable {
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
    /// Returns the server to which an admitted viewer is sent; nil: none.
    private let redirecting = Mutex<(@Sendable (Viewer) -> SignedRedirect?)?>(nil)

    /// - Parameter pollTimeout: how long a poll of a knock is held.
    init(
        _ configuration: ServedBroadcastConfiguration, delegate: any SignalingServerDelegate, pollTimeout: Duration,
        counters: SignalingCounters
    ) {
        self.configuration = configuration
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
        sealing = configuration.encryption?.sealsMessages == true ? EventSealing() : nil
        knocks = KnockRegistry(
            KnockApprovalHandler(
                delegate: delegate, secret: configuration.secret, admissions: admissions, counters: counters),
            KnockApprovalHandler.State(table: KnockTable(limits: configuration.knockLimits)), poll: pollTimeout)
    }

    /// Returns the server at which an admitted viewer is to watch; nil: this one.
    func redirect(_ viewer: Viewer) -> SignedRedirect? {
        let redirect = redirecting.withLock { $0 }
        return redirect?(viewer)
    }

    func setRedirect(_ redirect: @escaping @Sendable (Viewer) -> SignedRedirect?) {
        redirecting.withLock { $0 = redirect }
    }

    /// Sends an event on every viewer's event stream.
    func send(_ event: HostEvent) {
        guard let sealing, event.isSealable else { return endpoint.countDropped(endpoint.streams.send(event)) }
        sendSealed(event, by: sealing)
    }

    /// Sends an event on the event streams of sessions and of their viewers, and keeps its lasting part for streams
    /// that they open later.
    func send(_ event: HostEvent, to sessions: [SessionID]) {
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

    /// Withdraws a viewer's tokens and ends its event streams with `removed`. Waits `limit` at most until it is
    /// written.
    func remove(_ viewer: Viewer, reason: String, limit: Duration) async {
        let tokens = admissions.withdraw(from: viewer)
        sockets.close(of: tokens, .unauthorized)
        await endpoint.streams.end(HostEvent.removed(reason: reason), of: tokens, limit: limit)
    }

    /// Sends `ended` to every viewer, and waits 1 s at most until it is written. Withdraws all knocks.
    func end(reason: String) async {
        knocks.end()
        sockets.end()
        await endpoint.streams.end(HostEvent.ended(reason: reason), limit: .seconds(1))
    }
}
