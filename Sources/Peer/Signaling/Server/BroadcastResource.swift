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
    let configuration: BroadcastConfiguration
    let delegate: any SignalingServerDelegate
    let proof: Proof
    let admissions: AdmissionRegistry
    let knocks: KnockRegistry
    let eventStreams: EventStreams
    private let knockBucket: Mutex<TokenBucket>
    private let counters: SignalingCounters
    private let iceServers: Mutex<[ICEServer]>
    /// Where admitted viewers are sent; nil: nowhere.
    private let redirecting = Mutex<(@Sendable (Viewer) -> SignedRedirect?)?>(nil)

    /// - Parameter pollTimeout: how long a poll of a knock is held.
    init(
        _ configuration: BroadcastConfiguration, delegate: any SignalingServerDelegate, pollTimeout: Duration,
        counters: SignalingCounters
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.counters = counters
        iceServers = Mutex(configuration.iceServers)
        proof = Proof(id: configuration.id, secret: configuration.secret)
        admissions = AdmissionRegistry(fixedToken: configuration.fixedToken, limits: configuration.tokenLimits)
        var makeMark: (@Sendable () -> String)?
        if let key = configuration.passKey {
            let marks = MoveMark(configuration.id, key: key)
            makeMark = { marks.text(nonce: randomBytes(16), at: .secondsSince1970) }
        }
        eventStreams = EventStreams(capacity: configuration.eventStreamCapacity, makeMark: makeMark)
        knocks = KnockRegistry(
            KnockHandler(delegate: delegate, admissions: admissions, counters: counters),
            KnockHandler.State(table: KnockTable(limits: configuration.knockLimits)), poll: pollTimeout)
        let rate = configuration.knockRate
        knockBucket = Mutex(TokenBucket(burst: rate.burst, rate: rate.perSecond, now: .now))
    }

    /// The STUN and TURN servers that viewers are told from now on.
    var servers: [ICEServer] {
        get { iceServers.withLock { $0 } }
        set { iceServers.withLock { $0 = newValue } }
    }

    /// Takes the token of a knock with a correct proof, within the limits of its address and of this broadcast.
    /// - Returns: nil if the knock may proceed, else the seconds to wait.
    func knockDelay(_ address: AddressKey, _ connections: ConnectionRegistry) -> Int? {
        connections.withLimiter { limiter, now in
            knockBucket.withLock { limiter.knockDelay(address, of: &$0, now: now) }
        }
    }

    /// Where an admitted viewer is to watch; nil: here.
    func redirect(_ viewer: Viewer) -> SignedRedirect? {
        let redirect = redirecting.withLock { $0 }
        return redirect?(viewer)
    }

    func setRedirect(_ redirect: @escaping @Sendable (Viewer) -> SignedRedirect?) {
        redirecting.withLock { $0 = redirect }
    }

    /// Sends an event on every viewer's event stream.
    func send(_ event: HostEvent) { countDropped(eventStreams.send(event)) }

    /// Sends an event on the event streams of sessions and of their viewers, and keeps its lasting part for streams that
    /// they open later.
    func send(_ event: HostEvent, to sessions: [SessionID]) {
        send(event.serialized, admissions.keep(event, of: sessions))
    }

    private func send(_ text: String, _ owners: [SessionID: TokenHash]) {
        guard !owners.isEmpty else { return }
        countDropped(eventStreams.send(text, to: owners, shared: admissions.fixedToken))
    }

    /// Sends what was kept for a session before it was known, on the event streams of its viewer.
    func sendLasting(of session: SessionID) {
        guard let owner = admissions.session(session)?.token else { return }
        for text in admissions.lasting(of: session) { send(text, [session: owner]) }
    }

    /// Sends what was kept for a session, or for all sessions of a viewer, on one event stream. With the fixed token, the
    /// other sessions are those of others.
    func sendLasting(to owner: TokenHash, of session: SessionID?, on stream: Int) {
        guard session != nil || owner != admissions.fixedToken else { return }
        let events = session.map { admissions.lasting(of: $0) } ?? admissions.lasting(of: owner)
        countDropped(eventStreams.send(events, on: stream))
    }

    private func countDropped(_ streams: Int) {
        if streams > 0 { counters.count { $0.eventsDropped += streams } }
    }

    /// Withdraws a viewer's tokens and ends its event streams with `removed`. Waits `limit` at most until it is written.
    func remove(_ viewer: Viewer, reason: String, limit: Duration) async {
        await eventStreams.end(HostEvent.removed(reason: reason), of: admissions.withdraw(from: viewer), limit: limit)
    }

    /// Sends `ended` to every viewer, and waits 1 s at most until it is written. Withdraws all knocks.
    func end(reason: String) async {
        knocks.end()
        await eventStreams.end(HostEvent.ended(reason: reason), limit: .seconds(1))
    }
}
