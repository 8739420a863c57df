import Admission
import HTTP
import Identifiers

/// The sessions of a broadcast or of a service, and the places of those that are being opened, as a value.
///
/// The caller checks its limits and reserves a place in one step, before the delegate is asked for an answer.
struct SessionTable: Sendable {
    /// The properties of a session by which the limits count it.
    struct Owner: Sendable {
        let token: TokenHash
        /// The session uses the fixed token.
        let isFixed: Bool
        /// The identity whose knock was accepted; nil with the fixed token, and at a service.
        let identity: ViewerIdentity?
        /// SHA-256 of the offered certificate, 32 bytes.
        let fingerprint: [UInt8]
        let address: AddressKey
    }

    struct Session: Sendable {
        let owner: Owner
        let number: Int
        var etag: String
        var token: TokenHash { owner.token }
    }

    /// A session's place within the limits. `add` turns it into a session, `release` releases it.
    struct Reservation: Sendable {
        fileprivate let number: Int
    }

    /// Sessions whose end or events may be remembered before `add` was called for them.
    private let capacity: Int
    private var sessions: [SessionID: Session] = [:]
    private var sessionsOpened = 0
    /// The key is the reservation's number.
    private var reservations: [Int: Owner] = [:]
    private var reservationsMade = 0
    /// The lasting events of a session by their keys, for event streams that open later. One may arrive before `add`
    /// was called for its session.
    private var lasting: [SessionID: [String: String]] = [:]
    /// Sessions that were ended before `add` was called for them; empty while nothing is reserved.
    private var endedEarly: Set<SessionID> = []

    init(capacity: Int) { self.capacity = capacity }

    subscript(id: SessionID) -> Session? { sessions[id] }

    /// The owners of all sessions and reserved places.
    var taken: [Owner] { taken(except: nil) }

    /// - Parameter id: a session that another one is about to replace.
    func taken(except id: SessionID?) -> [Owner] {
        sessions.filter { $0.key != id }.map(\.value.owner) + reservations.values
    }

    var all: [SessionID] { Array(sessions.keys) }

    func sessions(of token: TokenHash) -> [SessionID] { sessions.filter { $0.value.token == token }.map(\.key) }

    func sessions(where isMeant: (Owner) -> Bool) -> [SessionID] {
        sessions.filter { isMeant($0.value.owner) }.map(\.key)
    }

    /// The sessions of these certificates.
    func sessions(of fingerprints: Set<[UInt8]>) -> [[UInt8]: [SessionID]] {
        var found: [[UInt8]: [SessionID]] = [:]
        for (id, session) in sessions where fingerprints.contains(session.owner.fingerprint) {
            found[session.owner.fingerprint, default: []].append(id)
        }
        return found
    }

    func oldest(of token: TokenHash) -> SessionID? {
        sessions.filter { $0.value.token == token }.min { $0.value.number < $1.value.number }?.key
    }

    mutating func reserve(_ owner: Owner) -> Reservation {
        reservationsMade += 1
        reservations[reservationsMade] = owner
        return Reservation(number: reservationsMade)
    }

    /// - Returns: the owner of the place; nil if it was released before.
    mutating func release(_ reservation: Reservation) -> Owner? {
        defer { if reservations.isEmpty { endedEarly = [] } }
        return reservations.removeValue(forKey: reservation.number)
    }

    /// Releases the places of sessions that are being opened; `add` then finds them unknown.
    mutating func releaseReservations(where isMeant: (Owner) -> Bool) {
        for (number, owner) in reservations where isMeant(owner) { _ = release(Reservation(number: number)) }
    }

    enum Addition {
        case added
        /// The session has been ended meanwhile.
        case ended(Owner)
        /// The place was released before.
        case unknown
    }

    mutating func add(_ session: OpenedSession, _ reservation: Reservation) -> Addition {
        let hasEnded = endedEarly.contains(session.id)
        guard let owner = release(reservation) else { return .unknown }
        guard !hasEnded else {
            lasting[session.id] = nil
            return .ended(owner)
        }
        sessionsOpened += 1
        sessions[session.id] = Session(owner: owner, number: sessionsOpened, etag: session.etag)
        return .added
    }

    /// Stores the new entity tag after an ICE restart.
    mutating func setETag(_ etag: String, of id: SessionID) { sessions[id]?.etag = etag }

    mutating func remove(_ id: SessionID) -> Session? {
        lasting[id] = nil
        return sessions.removeValue(forKey: id)
    }

    /// - Returns: the sessions that there were.
    mutating func removeAll() -> [SessionID] {
        defer { (sessions, lasting) = ([:], [:]) }
        return Array(sessions.keys)
    }

    /// Removes a session, also one for which `add` was not called yet.
    mutating func end(_ id: SessionID) -> Session? {
        if let session = remove(id) { return session }
        if !reservations.isEmpty, endedEarly.count < capacity { endedEarly.insert(id) }
        return nil
    }

    /// Stores what is `kept` of an event.
    /// - Returns: the token of the session; nil if the session is not known yet, or not any more.
    mutating func keep(_ event: (key: String, text: String)?, of id: SessionID) -> TokenHash? {
        if let event, lasting[id] != nil || lasting.count < capacity {
            lasting[id, default: [:]][event.key] = event.text
        }
        return sessions[id]?.token
    }

    /// The lasting events of a session, as text of `text/event-stream`.
    func lasting(of id: SessionID) -> [String] { lasting[id].map { Array($0.values) } ?? [] }
}
