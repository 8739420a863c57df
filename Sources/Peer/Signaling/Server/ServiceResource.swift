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
    let endpoint: Endpoint

    /// - Parameters:
    ///   - tunnels: of the server.
    ///   - pollTimeout: how long a poll of a pairing is held.
    init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, tunnels: TunnelTable,
        pollTimeout: Duration, counters: SignalingCounters
    ) {
        self.configuration = configuration
        self.delegate = delegate
        endpoint = Endpoint(
            path: "/services/" + configuration.description.id.text,
            streams: EventStreams(capacity: configuration.eventStreamCapacity), rate: configuration.pairingRate,
            iceServers: configuration.iceServers, turnSecret: configuration.turnSecret, counters: counters)
        pairings = PairingRegistry(
            configuration, delegate: delegate, streams: endpoint.streams, tunnels: tunnels, counters: counters,
            poll: pollTimeout)
    }

    /// Sends an event on the event streams of the session's host, and keeps its lasting part for streams that the host
    /// opens later. A final event ends the session's token.
    func send(_ event: ServiceEvent, to session: SessionID) {
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

    /// Sends `finished` to every host, and waits 1 s at most until it is written. Ends all pairings and sessions.
    func end(reason: String) async {
        let event = ServiceEvent.finished(reason: reason, nextStep: nil)
        pairings.end(event)
        await endpoint.streams.end(event, limit: .seconds(1))
    }
}
