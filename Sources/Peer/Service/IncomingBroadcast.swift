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
    private let stream: LoopBound<ReceiveStream>
    private let outcome: OneShot<EndReason>
    private let began = MonotonicClock.now

    /// The silence after which a publisher does not count as heard. It sends a sender report at least each second.
    private static let silence = MediaDuration.seconds(3)

    /// - Parameter report: called on the loop with everything but the end.
    init(
        id: SessionID, loop: EventLoop, publisher: Publisher, sink: any EncodedMediaSink, format: EncodedMediaFormat,
        report: @escaping @Sendable (ReceiveStream.Event) -> Void
    ) {
        self.id = id
        self.publisher = publisher
        self.format = format
        let outcome = OneShot<EndReason>()
        self.outcome = outcome
        stream = LoopBound(
            loop,
            making: {
                ReceiveStream(loop: loop, sink: sink) { event in
                    if case .ended(let reason) = event { outcome.fulfil(reason) } else { report(event) }
                }
            })
    }

    /// Answers the publisher's offer. The publisher restarts ICE, and a service only answers.
    /// - Parameters:
    ///   - servers: this service's STUN and TURN servers.
    ///   - socket: the UDP port that all publishers share; nil: each has sockets of its own.
    ///   - ports: of these sockets; nil: any.
    func open(
        _ offer: Offer, identity: Identity, servers: ICEServerPreparation.Addresses,
        socket: LoopBound<ICELiteSocket>?, ports: ClosedRange<UInt16>?
    ) async throws(OfferRefusal) -> OpenedSession {
        let place = CandidatePolicy.place(of: publisher.address, own: ICEAgent.localInterfaceAddresses())
        // The candidates are events, of which a publisher may see only the last.
        var configuration = PeerConnection.Configuration(
            .answerer, identity: identity, fingerprint: publisher.fingerprint, place: place, repeatsCandidates: true,
            interruptionThreshold: ReceiveStream.interruptionThreshold)
        (configuration.servers, configuration.socket, configuration.agent.ports) = (servers, socket, ports)
        configuration.agent.includesLoopback = place.gathersLoopback(with: servers)
        let opened = await stream.ifRunning { [configuration, outcome, loop = stream.loop] stream in
            Result { () throws(EndReason) in
                let connection = try stream.open(
                    configuration, allowance: ViewerAllowance(.viewer, now: MonotonicClock.now))
                do throws(EndReason) { try stream.begin(offer) } catch { outcome.fulfil(error) }
                return LoopBound(loop, connection)
            }
        }
        let connection: LoopBound<PeerConnection>
        do throws(EndReason) {
            guard let opened else { throw EndReason(.stopped, "The service has stopped.") }
            connection = try opened.get()
        } catch {
            throw OfferRefusal(.busy, error.sentence)
        }
        guard let description = await connection.receiverCandidates().description else {
            throw OfferRefusal(.busy, "The service found no way to receive.")
        }
        return OpenedSession(
            id: id, answer: description.answer(to: offer), etag: description.credentials.usernameFragment)
    }

    /// Reports the candidates that are found after an answer, until gathering is complete.
    func trickle(_ send: @escaping @Sendable (String) -> Void) { stream.perform { $0.connection?.trickle(send) } }

    /// Applies candidates of the publisher, or answers its ICE restart.
    /// - Returns: the answer to a restart; nil for candidates.
    func applyFragment(_ text: String) async throws(OfferRefusal) -> RestartedSession? {
        let ended = Result<RestartedSession?, OfferRefusal>.failure(OfferRefusal(.ended, "The broadcast has ended."))
        let result = await stream.answer { stream, done in
            guard let connection = stream.connection else { return done(ended) }
            connection.apply(
                fragment: text, within: PeerConnection.receiverTimeout, wanted: connection.grantedKind, done: done)
        }
        return try (result ?? ended).get()
    }

    /// Whether the connection is secure.
    func hasMedia() async -> Bool { await mediaSilence() != nil }

    /// How much another publisher with the same token and address is like this one, 0...2.
    func likeness(to other: Publisher) -> Int {
        publisher.fingerprint == other.fingerprint ? 2 : publisher.kind == other.kind ? 1 : 0
    }

    /// Whether authentic packets of the publisher arrive.
    func isHeard() async -> Bool { await mediaSilence().map { $0 < Self.silence } ?? false }

    /// For how long nothing has come from the publisher; before the first packet, since the offer.
    func silence() async -> MediaDuration { await mediaSilence() ?? MonotonicClock.now - began }

    /// The time since the last authentic packet; nil before the connection is secure.
    private func mediaSilence() async -> MediaDuration? {
        await stream.ifRunning { $0.connection.flatMap { $0.isConnected ? $0.silence : nil } } ?? nil
    }

    func statistics() async -> ViewerStatistics? { await stream.ifRunning { $0.statistics } ?? nil }

    func end(_ reason: EndReason) { outcome.fulfil(reason) }

    /// Waits for the end, and closes the connection and the sink.
    func run() async -> EndReason {
        let reason = await outcome.value
        await stream.performAndWait { $0.close($1) }
        return reason
    }
}
