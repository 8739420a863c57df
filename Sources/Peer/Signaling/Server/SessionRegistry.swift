import Admission
import HTTP
import Identifiers

/// The sessions of a broadcast or a service, as the routes of WHEP and WHIP use them. Safe from any thread.
protocol SessionRegistry: Sendable {
    /// A session's place within the limits, taken before the delegate is asked.
    associatedtype Reservation: Sendable

    /// The endpoint's path below its broadcast or service.
    static var mediaPath: String { get }

    func withSessions<Value: Sendable>(_ body: (inout SessionTable) -> Value) -> Value

    /// - Returns: false if the session has been ended meanwhile.
    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool

    /// Releases a reservation because the delegate has refused the offer.
    func release(_ reservation: Reservation)

    /// - Returns: false if there is no such session.
    @discardableResult
    func remove(_ id: SessionID) -> Bool

    /// Removes a session that the delegate has ended, also one for which `add` was not called yet.
    func end(_ id: SessionID)
}

extension SessionRegistry {
    func session(_ id: SessionID) -> SessionTable.Session? { withSessions { $0[id] } }

    /// Stores the new entity tag after an ICE restart.
    func setETag(_ etag: String, of id: SessionID) { withSessions { $0.setETag(etag, of: id) } }

    func sessions(of owner: TokenHash) -> [SessionID] { withSessions { $0.sessions(of: owner) } }

    /// The lasting events of a session, as text of `text/event-stream`.
    func lasting(of id: SessionID) -> [String] { withSessions { $0.lasting(of: id) } }

    func lasting(of owner: TokenHash) -> [String] {
        withSessions { sessions in sessions.sessions(of: owner).flatMap { sessions.lasting(of: $0) } }
    }

    /// Stores the lasting part of an event of sessions, for event streams that open later.
    /// - Returns: the sessions that are known, with their tokens.
    func keep(_ event: some StreamEvent, of ids: [SessionID]) -> [SessionID: TokenHash] {
        let kept = event.kept
        return withSessions { sessions in
            ids.reduce(into: [:]) { owners, id in owners[id] = sessions.keep(kept, of: id) }
        }
    }
}
