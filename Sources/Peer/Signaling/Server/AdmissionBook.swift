internal import Crypto
import Synchronization

/// Who was let in: tokens, each for one certificate, and the sessions opened with them.
///
/// Holds only hashes of tokens; see ``TokenTable`` for how long and how many.
final class AdmissionBook: Sendable {
    typealias TokenHash = SHA256.Digest

    struct Admission: Sendable {
        var viewer: Viewer?
        var name: String { viewer?.name ?? "" }
        /// True for the host's fixed token, which is for any certificate.
        var isFixed: Bool { viewer == nil }
    }

    /// Whose a session is, as the limits count it.
    struct SessionOwner: Sendable {
        let token: TokenHash
        /// The token is the host's fixed one.
        let isFixed: Bool
        /// Whose knock gave the token; nil with the fixed one.
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

    /// How many sessions there may be, those counted that are still being opened.
    struct SessionLimits: Sendable {
        var all: Int
        /// Of one token from a knock; its oldest session gives way to another one.
        var perToken = 4
        /// Of one identity, over all of its tokens. Not of one certificate: a browser only claims its own.
        var perIdentity = 8
        /// Of one certificate with the fixed token.
        var perFixedCertificate = 4
        /// Of one address with the fixed token.
        var perFixedAddress: Int { max(1, all / 4) }
    }

    /// A session's place, taken before the host is asked. `add` turns it into a session, `giveBack` frees it.
    struct Reservation: Sendable {
        fileprivate let number: Int
    }

    enum Reserving: Sendable {
        /// `replaced` is the token's oldest session, which is forgotten and has to be closed.
        case reserved(Reservation, replaced: SessionID?)
        /// This token, certificate or address has as many sessions as it may have.
        case tooManyOfOne
        case full
    }

    private struct State {
        var tokens: TokenTable
        var sessions: [SessionID: Session] = [:]
        var sessionsOpened = 0
        /// By number.
        var reservations: [Int: SessionOwner] = [:]
        var reservationsMade = 0
        /// What was found after the answer; perhaps before the session is known here.
        var late: [SessionID: String] = [:]
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

    /// A new token for the certificate of `viewer`; nil if there is no room for it.
    func admit(_ viewer: Viewer, from address: AddressKey) -> String? {
        let token = Base64URL.encode(randomBytes(32))
        let key = Self.hash(token)
        return state.withLock { $0.tokens.admit(key, viewer, from: address, now: .now) } ? token : nil
    }

    /// Whether `admit` would give a token.
    func hasRoom(for identity: ViewerIdentity, from address: AddressKey) -> Bool {
        state.withLock { $0.tokens.hasRoom(for: identity, from: address, now: .now) }
    }

    /// Compares hashes, so that time tells nothing about the token.
    func admission(token: String) -> (key: TokenHash, Admission)? {
        let key = Self.hash(token)
        if let fixed, fixed == key { return (key, Admission(viewer: nil)) }
        return state.withLock { state in state.tokens.use(key, now: .now).map { (key, Admission(viewer: $0)) } }
    }

    /// Takes a place for a session, within `limits`, in one step. Call it before the host is asked.
    func reserve(_ owner: SessionOwner, limits: SessionLimits) -> Reserving {
        state.withLock { state in
            let taken = state.sessions.values.map(\.place) + state.reservations.values
            var replaced: SessionID?
            if owner.isFixed {
                // Nothing proves whose certificate is offered with this token, so no session gives way.
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

    /// The host has refused, or its answer came too late.
    func giveBack(_ reservation: Reservation) {
        state.withLock { state in
            guard let owner = state.reservations.removeValue(forKey: reservation.number) else { return }
            state.tokens.sessionFailed(owner.token)
        }
    }

    func add(_ session: OpenedSession, _ reservation: Reservation) {
        state.withLock { state in
            guard let owner = state.reservations.removeValue(forKey: reservation.number) else { return }
            state.sessionsOpened += 1
            state.sessions[session.id] = Session(place: owner, number: state.sessionsOpened, etag: session.etag)
        }
    }

    /// Keeps the candidates that the host found after its answer, for streams that open later.
    /// - Returns: whose session it is; nil if it is not known yet (or any more).
    func keep(late fragment: String, of id: SessionID) -> TokenHash? {
        state.withLock { state in
            if state.late[id] != nil || state.late.count < capacity { state.late[id] = fragment }
            return state.sessions[id]?.owner
        }
    }

    func late(of id: SessionID) -> String? { state.withLock { $0.late[id] } }

    func late(of owner: TokenHash) -> [String] {
        state.withLock { state in state.late.filter { state.sessions[$0.key]?.owner == owner }.map(\.value) }
    }

    func sessions(of owner: TokenHash) -> [SessionID] {
        state.withLock { state in state.sessions.filter { $0.value.owner == owner }.map(\.key) }
    }

    func session(_ id: SessionID) -> Session? { state.withLock { $0.sessions[id] } }

    /// ICE was restarted.
    func rename(_ id: SessionID, etag: String) { state.withLock { $0.sessions[id]?.etag = etag } }

    /// - Returns: false if there is none.
    @discardableResult
    func remove(_ id: SessionID) -> Bool {
        state.withLock { state in
            state.late[id] = nil
            guard let session = state.sessions.removeValue(forKey: id) else { return false }
            state.tokens.sessionEnded(session.owner, now: .now)
            return true
        }
    }
}
