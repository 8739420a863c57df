import Admission
import Identifiers

/// The sessions of a broadcast or a service, as the routes of WHEP and WHIP use them. Safe from any thread.
protocol SessionRegistry: Sendable {
    /// A session's place within the limits, taken before the delegate is asked.
    associatedtype Reservation: Sendable

    func session(_ id: SessionID) -> SessionTable.Session?

    /// - Returns: false if the session has been ended meanwhile.
    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool

    /// Releases a reservation because the delegate has refused the offer.
    func release(_ reservation: Reservation)

    /// Stores the new entity tag after an ICE restart.
    func setETag(_ etag: String, of id: SessionID)

    /// - Returns: false if there is no such session.
    @discardableResult
    func remove(_ id: SessionID) -> Bool

    /// Removes a session that the delegate has ended, also one for which `add` was not called yet.
    func end(_ id: SessionID)

    /// The lasting events of a session, as text of `text/event-stream`.
    func lasting(of id: SessionID) -> [String]
}
