public import Admission
import HTTP
public import Identifiers
import MediaCore
import Synchronization

/// A service that was added to a ``SignalingServer``, which keeps it: its delegate, its pairings, sessions and event
/// streams. Sends events to hosts, finishes their sessions, ends the service, and removes it. Safe from any thread.
///
/// Services and broadcasts share nothing but the server's counters and limits.
public final class ServiceResource: Sendable {
    let configuration: ServiceConfiguration
    let delegate: any ServiceDelegate
    let pairings: PairingRegistry
    let endpoint: Endpoint
    private weak let table: ServiceTable?

    /// - Parameters:
    ///   - tunnels: of the server.
    ///   - pollTimeout: how long a poll of a pairing is held.
    init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, tunnels: TunnelTable,
        pollTimeout: Duration, counters: SignalingCounters, in table: ServiceTable?
    ) {
        self.configuration = configuration
        self.table = table
        self.delegate = delegate
        endpoint = Endpoint(
            path: "/services/" + configuration.description.id.text,
            streams: EventStreams(capacity: configuration.eventStreamCapacity), rate: configuration.pairingRate,
            iceServers: configuration.iceServers, turnSecret: configuration.turnSecret, counters: counters)
        pairings = PairingRegistry(
            configuration, delegate: delegate, streams: endpoint.streams, tunnels: tunnels, counters: counters,
            poll: pollTimeout)
    }

    public var id: ServiceID { configuration.description.id }
    public var description: ServiceDescription { configuration.description }

    /// Tells hosts these STUN and TURN servers from now on, in place of those of the configuration.
    public func use(_ servers: [ICEServer]) { endpoint.use(servers) }

    /// Sends an event to the host of a session. Never waits; a stream with 64 unread events is closed. Streams that the
    /// host opens later begin with the latest event of each kind. `finished` is as `finish`. A WHIP tool with the fixed
    /// token has no events.
    public func send(_ event: ServiceEvent, to session: SessionID) {
        guard !event.isFinal else { return pairings.finish(session, event) }
        // Nobody has a stream with the fixed token.
        guard let owner = pairings.keep(event, of: [session])[session] else { return }
        send([event.serialized], to: owner)
    }

    /// Sends what was kept for a session before it was known, on the event streams of its host.
    func sendLasting(of session: SessionID) {
        guard let owner = pairings.session(session)?.token else { return }
        send(pairings.lasting(of: session), to: owner)
    }

    /// Sends the events with which a new stream of this host begins. If its token has ended, the stream ends with the
    /// final event.
    func begin(_ owner: TokenHash) {
        send(pairings.lasting(of: owner), to: owner)
        if let final = pairings.final(of: owner) { endpoint.streams.finish(owner, final) }
    }

    private func send(_ events: [String], to owner: TokenHash) {
        endpoint.countDropped(endpoint.streams.send(events, to: owner))
    }

    /// Ends the broadcast of a session: tells its host, and ends its token. The caller closes the session itself.
    /// - Parameters:
    ///   - reason: a sentence for the host's user.
    ///   - nextStep: what the host's user may do next, a sentence or a URL.
    public func finish(_ session: SessionID, reason: String, nextStep: String? = nil) {
        send(.finished(reason: reason, nextStep: nextStep), to: session)
    }

    /// Reports that a session has received media. A session for which this is not called for
    /// `PairingTable.Limits.silence` is closed, and its token ends; calls once a second are enough. Sessions
    /// with the fixed token are not watched.
    public func mediaReceived(_ session: SessionID) { pairings.mediaReceived(session) }

    /// Removes the resource of a session that the service has ended, with its token.
    public func forget(_ session: SessionID) { pairings.end(session) }

    /// Sends `finished` with `reason` to every host, and waits 1 s at most until it is written. Closes all sessions and
    /// withdraws all pairings; requests to pair and offers are answered with 410.
    public func end(reason: String) async {
        let event = ServiceEvent.finished(reason: reason, nextStep: nil)
        pairings.end(event)
        await endpoint.streams.end(event, limit: .seconds(1))
    }

    /// Ends the service as `end` does, and then removes it: its identifier is unknown from then on. May be called more
    /// than once.
    public func remove(reason: String) async {
        await end(reason: reason)
        table?.remove(self)
    }
}
