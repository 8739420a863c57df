import Admission
import HTTP
import Identifiers
import MediaCore
import Synchronization

/// One service of a server: its delegate, its pairings, sessions and event streams. Safe from any thread.
///
/// Services and broadcasts share nothing but the server's counters and limits.
final class ServiceResource: Sendable {
    let configuration: ServiceConfiguration
    let delegate: any ServiceDelegate
    let pairings: PairingRegistry
    let eventStreams: EventStreams
    private let pairingBucket: Mutex<TokenBucket>
    private let counters: SignalingCounters
    private let iceServers: Mutex<[ICEServer]>

    /// - Parameters:
    ///   - tunnels: of the server.
    ///   - pollTimeout: how long a poll of a pairing is held.
    init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, tunnels: TunnelTable,
        pollTimeout: Duration, counters: SignalingCounters
    ) {
        self.configuration = configuration
        self.delegate = delegate
        self.counters = counters
        iceServers = Mutex(configuration.iceServers)
        eventStreams = EventStreams(capacity: configuration.eventStreamCapacity)
        pairings = PairingRegistry(
            configuration, delegate: delegate, streams: eventStreams, tunnels: tunnels, counters: counters,
            poll: pollTimeout)
        let rate = configuration.pairingRate
        pairingBucket = Mutex(TokenBucket(burst: rate.burst, rate: rate.perSecond, now: .now))
    }

    /// The STUN and TURN servers that publishers are told from now on.
    var servers: [ICEServer] {
        get { iceServers.withLock { $0 } }
        set { iceServers.withLock { $0 = newValue } }
    }

    /// The path of the service's resources, without a slash at the end.
    var path: String { "/services/\(configuration.description.id.text)" }

    /// Takes the token of a request to pair, within the limits of its address and of this service.
    /// - Returns: nil if the request may proceed, else the seconds to wait.
    func pairingDelay(_ address: AddressKey, _ connections: ConnectionRegistry) -> Int? {
        connections.withLimiter { limiter, now in
            pairingBucket.withLock { limiter.knockDelay(address, of: &$0, now: now) }
        }
    }

    /// Sends an event on the event streams of the session's host, and keeps its lasting part for streams that the host
    /// opens later. A final event ends the session's token.
    func send(_ event: ServiceEvent, to session: SessionID) {
        guard !event.isFinal else { return pairings.finish(session, event) }
        // Nobody has a stream with the fixed token.
        guard let owner = pairings.keep(event, of: session) else { return }
        countDropped(eventStreams.send([event.serialized], to: owner))
    }

    /// Sends what was kept for a session before it was known, on the event streams of its host.
    func sendLasting(of session: SessionID) {
        guard let owner = pairings.session(session)?.token else { return }
        countDropped(eventStreams.send(pairings.lasting(of: session), to: owner))
    }

    /// Sends the events with which a new stream of this host begins. If its token has ended, the stream ends with the
    /// final event.
    func begin(_ owner: TokenHash) {
        countDropped(eventStreams.send(pairings.lasting(of: owner), to: owner))
        if let final = pairings.final(of: owner) { eventStreams.finish(owner, final) }
    }

    private func countDropped(_ streams: Int) {
        if streams > 0 { counters.count { $0.eventsDropped += streams } }
    }

    /// Sends `finished` to every host, and waits 1 s at most until it is written. Ends all pairings and sessions.
    func end(reason: String) async {
        let event = ServiceEvent.finished(reason: reason, nextStep: nil)
        pairings.end(event)
        await eventStreams.end(event, limit: .seconds(1))
    }
}
