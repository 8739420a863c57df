import Admission
internal import Crypto
import Synchronization

/// The tokens of admitted viewers, each valid for one certificate, and the sessions that were opened with them.
///
/// Stores only hashes of tokens. ``TokenTable`` defines their lifetime and number.
final class AdmissionRegister: Sendable {
    typealias TokenHash = SHA256.Digest

    struct Admission: Sendable {
        var viewer: Viewer?
        var name: String { viewer?.name ?? "" }
        /// True for the host's fixed token, which is valid for every certificate.
        var isFixed: Bool { viewer == nil }
    }

    /// The properties of a session by which the limits count it.
    struct SessionOwner: Sendable {
        let token: TokenHash
        /// The session uses the host's fixed token.
        let isFixed: Bool
        /// The identity whose knock was accepted; nil with the fixed token.
        let identity: ViewerIdentity?
        /// SHA-256 of the offered certificate, 32 bytes.
        let fingerprint: [UInt8]
        let address: AddressKey
    }

    struct Session: Sendable {
        let place: SessionOwner
        let number: Int
        var etag: String
        var owner: TokenHash { place.token }
    }

    /// Limits of the number of sessions. Sessions that are still being opened count, too.
    struct SessionLimits: Sendable {
        var all: Int
        /// Sessions of one token from a knock. Another one replaces the oldest.
        var perToken = 4
        /// Sessions of one identity, over all of its tokens. They are not limited per certificate, because a browser
        /// only claims its certificate.
        var perIdentity = 8
        /// Sessions of one certificate with the fixed token.
        var perFixedCertificate = 4
        /// Sessions of one address with the fixed token.
        var perFixedAddress: Int { max(1, all / 4) }
    }

    /// A session's place within the limits, taken before the host is asked. `add` turns it into a session, `release`
    /// releases it.
    struct Reservation: Sendable {
        fileprivate let number: Int
    }

    enum Reserving: Sendable {
        /// `replaced` is the token's oldest session. It has been removed here, and the caller has to close it.
        case reserved(Reservation, replaced: SessionID?)
        /// This token, identity, certificate or address has as many sessions as it may have.
        case tooManyOfOne
        case full
    }

    private struct State {
        var tokens: TokenTable
        var sessions: [SessionID: Session] = [:]
        var sessionsOpened = 0
        /// The key is the reservation's number.
        var reservations: [Int: SessionOwner] = [:]
        var reservationsMade = 0
        /// Trickle fragments with candidates that were gathered after the answer. One may arrive before `add` was
        /// called for its session.
        var late: [SessionID: String] = [:]
        /// Sessions that the host has ended before `add` was called for them; empty while nothing is reserved.
        var endedEarly: Set<SessionID> = []
        /// Certificates that the host has removed while they used the fixed token; the oldest is first.
        var removedCertificates: [[UInt8]] = []

        mutating func remove(_ id: SessionID) -> Bool {
            late[id] = nil
            guard let session = sessions.removeValue(forKey: id) else { return false }
            tokens.sessionEnded(session.owner, now: .now)
            return true
        }

        /// Removes the sessions of these owners, and the reservations of those that are being opened.
        mutating func removeSessions(where isMeant: (SessionOwner) -> Bool) {
            for (id, session) in sessions where isMeant(session.place) { _ = remove(id) }
            for (number, owner) in reservations where isMeant(owner) { _ = takeReservation(number) }
        }

        mutating func takeReservation(_ number: Int) -> SessionOwner? {
            defer { if reservations.isEmpty { endedEarly = [] } }
            return reservations.removeValue(forKey: number)
        }
    }

    private let state: Mutex<State>
    private let fixed: TokenHash?
    private let capacity: Int

    init(fixedToken: String?, limits: TokenTable.Limits) {
        fixed = fixedToken.map(Self.hash)
        capacity = limits.all
        state = Mutex(State(tokens: TokenTable(limits: limits)))
    }

    static func hash(_ token: String) -> TokenHash { SHA256.hash(data: Array(token.utf8)) }

    /// Creates a token for the certificate of `viewer`; nil if there is no room for it.
    func admit(_ viewer: Viewer, from address: AddressKey) -> String? {
        let token = Base64URL.encode(randomBytes(32))
        let key = Self.hash(token)
        return state.withLock { $0.tokens.admit(key, viewer, from: address, now: .now) } ? token : nil
    }

    /// Returns whether `admit` would succeed.
    func hasRoom(for identity: ViewerIdentity, from address: AddressKey) -> Bool {
        state.withLock { $0.tokens.hasRoom(for: identity, from: address, now: .now) }
    }

    /// Looks a token up. Hashes are compared, so that the time taken reveals nothing about the token.
    func admission(token: String) -> (key: TokenHash, Admission)? {
        let key = Self.hash(token)
        if let fixed, fixed == key { return (key, Admission(viewer: nil)) }
        return state.withLock { state in state.tokens.use(key, now: .now).map { (key, Admission(viewer: $0)) } }
    }

    /// Checks `limits` and reserves a place for a session in one step. Call it before the host is asked.
    func reserve(_ owner: SessionOwner, limits: SessionLimits) -> Reserving {
        state.withLock { state in
            let taken = state.sessions.values.map(\.place) + state.reservations.values
            var replaced: SessionID?
            if owner.isFixed {
                // With this token, nothing proves who owns the offered certificate, so no session is replaced.
                let own = taken.filter { $0.isFixed }
                guard own.count(where: { $0.fingerprint == owner.fingerprint }) < limits.perFixedCertificate,
                    own.count(where: { $0.address == owner.address }) < limits.perFixedAddress
                else { return .tooManyOfOne }
            } else if taken.count(where: { $0.token == owner.token }) >= limits.perToken
                || taken.count(where: { $0.identity == owner.identity }) >= limits.perIdentity
            {
                let own = state.sessions.filter { $0.value.owner == owner.token }
                guard let oldest = own.min(by: { $0.value.number < $1.value.number })?.key else {
                    return .tooManyOfOne
                }
                replaced = oldest
            }
            guard replaced != nil || taken.count < limits.all else { return .full }
            if let replaced {
                state.sessions[replaced] = nil
                state.late[replaced] = nil
                state.tokens.sessionEnded(owner.token, now: .now)
            }
            state.reservationsMade += 1
            state.reservations[state.reservationsMade] = owner
            state.tokens.sessionBegan(owner.token)
            return .reserved(Reservation(number: state.reservationsMade), replaced: replaced)
        }
    }

    /// Releases a reservation because the host has refused the offer.
    func release(_ reservation: Reservation) {
        state.withLock { state in
            guard let owner = state.takeReservation(reservation.number) else { return }
            state.tokens.sessionFailed(owner.token)
        }
    }

    /// - Returns: false if the host has ended the session or removed its viewer meanwhile.
    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool {
        state.withLock { state in
            let hasEnded = state.endedEarly.contains(session.id)
            guard let owner = state.takeReservation(reservation.number) else { return false }
            guard !hasEnded else {
                state.late[session.id] = nil
                state.tokens.sessionEnded(owner.token, now: .now)
                return false
            }
            state.sessionsOpened += 1
            state.sessions[session.id] = Session(place: owner, number: state.sessionsOpened, etag: session.etag)
            return true
        }
    }

    /// Removes a session that the host has ended, also one for which `add` was not called yet.
    func end(_ id: SessionID) {
        state.withLock { state in
            guard !state.remove(id) else { return }
            if !state.reservations.isEmpty, state.endedEarly.count < capacity { state.endedEarly.insert(id) }
        }
    }

    /// Stores the candidates that the host gathered after its answer, for event streams that open later.
    /// - Returns: the token of the session; nil if the session is not known yet, or not any more.
    func keep(late fragment: String, of id: SessionID) -> TokenHash? {
        state.withLock { state in
            if state.late[id] != nil || state.late.count < capacity { state.late[id] = fragment }
            return state.sessions[id]?.owner
        }
    }

    /// Withdraws what a viewer was granted, also for sessions that are still being opened. With the fixed token, which all its users share, its certificate is refused.
    /// - Returns: the withdrawn tokens.
    func withdraw(from viewer: Viewer) -> Set<TokenHash> {
        state.withLock { state in
            guard let identity = viewer.identity else {
                state.removedCertificates.removeAll { $0 == viewer.fingerprint }
                if state.removedCertificates.count >= Self.removedCertificatesLimit {
                    state.removedCertificates.removeFirst()
                }
                state.removedCertificates.append(viewer.fingerprint)
                state.removeSessions { $0.isFixed && $0.fingerprint == viewer.fingerprint }
                return []
            }
            let tokens = Set(state.tokens.remove(identity))
            state.removeSessions { tokens.contains($0.token) }
            return tokens
        }
    }

    static let removedCertificatesLimit = 1_024

    /// Whether the host has removed this certificate while it used the fixed token.
    func hasRemoved(certificate: [UInt8]) -> Bool { state.withLock { $0.removedCertificates.contains(certificate) } }

    func late(of id: SessionID) -> String? { state.withLock { $0.late[id] } }

    func late(of owner: TokenHash) -> [String] {
        state.withLock { state in state.late.filter { state.sessions[$0.key]?.owner == owner }.map(\.value) }
    }

    func sessions(of owner: TokenHash) -> [SessionID] {
        state.withLock { state in state.sessions.filter { $0.value.owner == owner }.map(\.key) }
    }

    func session(_ id: SessionID) -> Session? { state.withLock { $0.sessions[id] } }

    /// Stores the new entity tag after an ICE restart.
    func rename(_ id: SessionID, etag: String) { state.withLock { $0.sessions[id]?.etag = etag } }

    /// - Returns: false if there is no such session.
    @discardableResult
    func remove(_ id: SessionID) -> Bool {
        state.withLock { $0.remove(id) }
    }
}
