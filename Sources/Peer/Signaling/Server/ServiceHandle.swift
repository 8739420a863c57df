public import Admission
public import Identifiers

/// A service that was added to a ``SignalingServer``: sends events to hosts, finishes their sessions, ends the service,
/// and removes it.
///
/// Safe from any thread. A handle that is dropped leaves its service at the server.
public struct ServiceHandle: Sendable {
    private let service: ServiceResource
    private let table: ServiceTable

    init(_ service: ServiceResource, in table: ServiceTable) {
        self.service = service
        self.table = table
    }

    public var id: ServiceID { service.configuration.description.id }
    public var description: ServiceDescription { service.configuration.description }

    /// Tells hosts these STUN and TURN servers from now on, in place of those of the configuration.
    public func use(_ servers: [ICEServer]) { service.endpoint.use(servers) }

    /// Sends an event to the host of a session. Never waits; a stream with 64 unread events is closed. Streams that the
    /// host opens later begin with the latest event of each kind. `finished` is as `finish`. A WHIP tool with the fixed
    /// token has no events.
    public func send(_ event: ServiceEvent, to session: SessionID) { service.send(event, to: session) }

    /// Ends the broadcast of a session: tells its host, and ends its token. The caller closes the session itself.
    /// - Parameters:
    ///   - reason: a sentence for the host's user.
    ///   - nextStep: what the host's user may do next, a sentence or a URL.
    public func finish(_ session: SessionID, reason: String, nextStep: String? = nil) {
        service.send(.finished(reason: reason, nextStep: nextStep), to: session)
    }

    /// Reports that a session has received media. A session for which this is not called for
    /// `PairingTable.Limits.silence` is closed, and its token ends; calls once a second are enough. Sessions
    /// with the fixed token are not watched.
    public func mediaReceived(_ session: SessionID) { service.pairings.mediaReceived(session) }

    /// Removes the resource of a session that the service has ended, with its token.
    public func forget(_ session: SessionID) { service.pairings.end(session) }

    /// Sends `finished` with `reason` to every host, and waits 1 s at most until it is written. Closes all sessions and
    /// withdraws all pairings; requests to pair and offers are answered with 410.
    public func end(reason: String) async { await service.end(reason: reason) }

    /// Ends the service as `end` does, and then removes it: its identifier is unknown from then on. May be called more
    /// than once.
    public func remove(reason: String) async {
        await service.end(reason: reason)
        table.remove(service)
    }
}
