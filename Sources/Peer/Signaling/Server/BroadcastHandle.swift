public import Admission
import HTTP
public import Identifiers
public import MediaCore

/// A broadcast that was added to a ``SignalingServer``: sends events to its viewers, ends it, and removes it.
///
/// Safe from any thread. A handle that is dropped leaves its broadcast at the server.
public struct BroadcastHandle: Sendable {
    let broadcast: BroadcastResource
    private let table: BroadcastTable

    init(_ broadcast: BroadcastResource, in table: BroadcastTable) {
        self.broadcast = broadcast
        self.table = table
    }

    public var id: BroadcastID { broadcast.configuration.id }
    /// The link's secret, 16 bytes.
    public var secret: [UInt8] { broadcast.configuration.secret }

    /// Tells viewers these STUN and TURN servers from now on, in place of those of the configuration.
    public func use(_ servers: [ICEServer]) { broadcast.endpoint.use(servers) }

    /// Sends an event on every viewer's event stream. Never waits; a stream with 64 unread events is closed.
    public func send(_ event: HostEvent) { broadcast.send(event) }

    /// Sends an event on the event streams of those viewers that read fast enough.
    public func sendDroppable(_ event: HostEvent) { broadcast.sendDroppable(event) }

    /// Sends candidates that the host gathered after its answer, all of them so far, on the event streams of the
    /// session's viewer. Streams that it opens later begin with them.
    public func send(candidates fragment: String, of session: SessionID) {
        broadcast.send(.candidates(fragment: fragment), to: [session])
    }

    /// Tells the viewers of sessions which layers their video has. Streams that they open later begin with it.
    public func send(_ layers: VideoLayers, of sessions: [SessionID]) {
        broadcast.send(.layers(layers), to: sessions)
    }

    /// Tells the viewer of sessions what it may do. Streams that it opens later begin with it.
    public func send(_ rights: GrantedRights, of sessions: [SessionID]) {
        broadcast.send(.rights(rights), to: sessions)
    }

    /// Has the viewer of a session go on elsewhere; nil: not any more. Streams that it opens later begin with it.
    public func send(redirect: SignedRedirect?, to session: SessionID) {
        broadcast.send(.reconnect(redirect), to: [session])
    }

    /// Passes keys on to viewers with these certificates. Streams that they open later begin with them.
    public func pass(_ keys: [MemberKeys]) {
        let sessions = broadcast.admissions.sessions(of: keys.map(\.viewer))
        for entry in keys {
            if let own = sessions[entry.viewer] { broadcast.send(.keys(entry.keys), to: own) }
        }
    }

    /// Has viewers that are admitted from now on go elsewhere at once.
    /// - Parameter redirect: returns where; nil: the viewer stays. Called on any thread.
    public func redirect(by redirect: @escaping @Sendable (Viewer) -> SignedRedirect?) {
        broadcast.setRedirect(redirect)
    }

    /// Withdraws what a viewer was granted, and sends it the `removed` event with `reason`: waits 250 ms at most until
    /// it is written. The viewer may knock again, and the delegate decides on that knock as on any other. Of a player
    /// with the fixed token, the certificate is refused until the broadcast ends. The delegate closes the sessions
    /// itself.
    public func remove(_ viewer: Viewer, reason: String) async {
        await broadcast.remove(viewer, reason: reason, limit: .milliseconds(250))
    }

    /// Removes the resource of a session that the host has ended.
    public func forget(_ session: SessionID) { broadcast.admissions.end(session) }

    /// Media reaches the viewer of a session, so that it is no stranger to the TURN servers any more.
    public func noteMedia(of session: SessionID) { broadcast.admissions.noteMedia(session) }

    /// Sends the `ended` event with `reason` to every viewer, and waits 1 s at most until it is written. Withdraws all
    /// knocks; nobody can join any more, and knocks and offers are answered with 410.
    public func end(reason: String) async { await broadcast.end(reason: reason) }

    /// Ends the broadcast as `end` does, and then removes it: its identifier is unknown from then on. May be called
    /// more than once. The delegate closes the sessions itself.
    public func remove(reason: String) async {
        await broadcast.end(reason: reason)
        table.remove(broadcast)
    }
}
