import MediaCore
import Signaling

/// The state of a host session, as one value: where viewers reach it, and all that its end closes.
struct HostSessionState {
    /// Where viewers reach the broadcast.
    enum Reachability {
        /// At this host's own server.
        case direct
        /// Over the reverse tunnels of relays. The handover moves them to the relay itself when there are many; nil:
        /// this host sends to all of them.
        case tunnel(HostTunnels, RelayHandover?)
        /// At a service or relay that the broadcast is published to, and nowhere else.
        case publication(Publication)
    }

    struct Publication {
        let client: ServicePublication
        /// The likes and the newest comment that the service has told.
        var info = ServiceInfo()
        /// How many watch, as the service or relay tells; nil while it has not told.
        var viewers: Int?
    }

    private(set) var isStopped = false
    private(set) var server: SignalingServer?
    private(set) var reachability = Reachability.direct
    /// Of the servers of a relay or a service.
    private var renewal: ICEServerRenewal?
    /// Of what is published to the relay of the tunnel; nil: the relay can watch.
    var encryption: BroadcastEncryption?
    /// The recorders and clip buffers, which are closed at the end.
    var sinks: [any EncodedMediaSink] = []

    var publication: Publication? { if case .publication(let publication) = reachability { publication } else { nil } }
    var handover: RelayHandover? { if case .tunnel(_, let handover) = reachability { handover } else { nil } }
    var tunnel: HostTunnels? { if case .tunnel(let tunnel, _) = reachability { tunnel } else { nil } }

    /// - Returns: false if the session has stopped meanwhile; the caller then closes what it has opened.
    mutating func open(_ server: SignalingServer) -> Bool {
        if !isStopped { self.server = server }
        return !isStopped
    }

    /// - Returns: as for a server.
    mutating func reach(over tunnel: HostTunnels) -> Bool {
        if !isStopped { reachability = .tunnel(tunnel, nil) }
        return !isStopped
    }

    /// - Returns: false if the session has stopped meanwhile; the handover must not be started then.
    mutating func move(by handover: RelayHandover) -> Bool {
        guard !isStopped, case .tunnel(let tunnel, _) = reachability else { return false }
        reachability = .tunnel(tunnel, handover)
        return true
    }

    /// - Returns: as for a server.
    mutating func reach(at client: ServicePublication) -> Bool {
        if !isStopped { reachability = .publication(Publication(client: client)) }
        return !isStopped
    }

    /// Takes what the service tells.
    /// - Returns: how many watch there, if that is news.
    mutating func take(_ info: ServiceInfo) -> Int? {
        guard var publication else { return nil }
        publication.info.take(info)
        let former = publication.viewers
        publication.viewers = info.viewers.map { max($0, 0) } ?? former
        reachability = .publication(publication)
        return publication.viewers == former ? nil : publication.viewers
    }

    /// - Returns: the renewal, made by `make` if there is none; nil after the end.
    mutating func renewal(_ make: () -> ICEServerRenewal) -> ICEServerRenewal? {
        guard !isStopped else { return nil }
        let known = renewal ?? make()
        renewal = known
        return known
    }

    /// - Returns: what was opened; nil if it was stopped before.
    mutating func stop() -> (server: SignalingServer?, reachability: Reachability, renewal: ICEServerRenewal?)? {
        guard !isStopped else { return nil }
        isStopped = true
        return (server, reachability, renewal)
    }
}
