import Admission
import EventLoop
import Host
import ICETransport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionDescription
import Signaling
import Viewer

/// One broadcast that a service takes in: its connection, and the sink of its media. Safe from any thread.
final class IncomingBroadcast: Sendable {
    let id: SessionID
    let publisher: Publisher
    /// As its offer says.
    let format: EncodedMediaFormat
    private let core: LoopBound<Subscription>
    private let outcome: OneShot<EndReason>
    private let began = MonotonicClock.now

    /// The silence after which a publisher does not count as heard. It sends a sender report at least each second.
    private static let silence = MediaDuration.seconds(3)

    init(
        id: SessionID, loop: EventLoop, publisher: Publisher, sink: any EncodedMediaSink, format: EncodedMediaFormat,
        emit: @escaping @Sendable (ViewerEvent) -> Void
    ) {
        self.id = id
        self.publisher = publisher
        self.format = format
        let outcome = OneShot<EndReason>()
        self.outcome = outcome
        core = LoopBound(
            loop,
            making: {
                Subscription(
                    loop: loop, sink: sink,
                    emit: emit, outcome: outcome,
                    // The publisher restarts ICE; a service only answers.
                    request: { _ in })
            })
    }

    /// Answers the publisher's offer.
    /// - Parameters:
    ///   - servers: this service's STUN and TURN servers.
    ///   - socket: the UDP port that all publishers share; nil: each has sockets of its own.
    ///   - ports: of these sockets; nil: any.
    func open(
        _ offer: Offer, identity: Identity, servers: ICEServerResolver.Addresses,
        socket: LoopBound<ICELiteSocket>?, ports: ClosedRange<UInt16>?
    ) async throws(OfferRefusal) -> OpenedSession {
        guard let print = Fingerprint(sha256: identity.fingerprint) else {
            throw OfferRefusal(.busy, "The service has no usable certificate.")
        }
        let own = SecureTransport.Identity(identity)
        let expected = publisher.fingerprint
        let place = CandidatePolicy.place(of: publisher.address, own: ICEAgent.localInterfaceAddresses())
        let failure = await core.ifRunning { session -> EndReason? in
            if let failure = session.prepare(
                own, as: .answerer, expected: expected,
                includesLoopback: place.gathersLoopback(with: servers), servers: servers,
                usesOnlyRelays: false, place: place, socket: socket, ports: ports,
                allowance: ViewerAllowance(.viewer, now: MonotonicClock.now))
            {
                return failure
            }
            session.begin(offer)
            return nil
        }
        if let reason = failure ?? EndReason(.stopped, "The service has stopped.") {
            throw OfferRefusal(.busy, reason.sentence)
        }
        let found = await core.gathered()
        guard let credentials = found.credentials else {
            throw OfferRefusal(.busy, "The service found no way to receive.")
        }
        let answer = LocalDescription(
            credentials: credentials, isLite: socket != nil, fingerprint: print, candidates: found.candidates,
            endsCandidates: found.isComplete
        ).answer(to: offer)
        return OpenedSession(id: id, answer: answer, etag: credentials.usernameFragment)
    }

    /// Reports the candidates that are found after an answer, until gathering is complete.
    func trickle(_ send: @escaping @Sendable (String) -> Void) { core.perform { $0.trickle(send) } }

    /// Applies candidates of the publisher, or answers its ICE restart.
    /// - Returns: the answer to a restart; nil for candidates.
    func applyFragment(_ text: String) async throws(OfferRefusal) -> RestartedSession? {
        let result = await core.answer { $0.applyFragment(text, done: $1) }
        return try (result ?? .failure(OfferRefusal(.ended, "The broadcast has ended."))).get()
    }

    /// Whether the connection is secure.
    func hasMedia() async -> Bool { await core.ifRunning { $0.silence != nil } ?? false }

    /// How much another publisher with the same token and address is like this one, 0...2.
    func likeness(to other: Publisher) -> Int {
        publisher.fingerprint == other.fingerprint ? 2 : publisher.kind == other.kind ? 1 : 0
    }

    /// Whether authentic packets of the publisher arrive.
    func isHeard() async -> Bool {
        await core.ifRunning { $0.silence.map { $0 < Self.silence } ?? false } ?? false
    }

    /// For how long nothing has come from the publisher; before the first packet, since the offer.
    func silence() async -> MediaDuration {
        let began = began
        return await core.ifRunning { $0.silence ?? MonotonicClock.now - began } ?? MonotonicClock.now - began
    }

    func statistics() async -> ViewerStatistics? { await core.ifRunning { $0.statistics } ?? nil }

    func end(_ reason: EndReason) { outcome.fulfil(reason) }

    /// Waits for the end, and closes the connection and the sink.
    func run() async -> EndReason {
        let reason = await outcome.value
        await core.performAndWait { $0.close($1) }
        return reason
    }
}
