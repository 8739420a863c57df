import Admission
import HTTP
import Identifiers
import Identity
import MediaCore
import Synchronization

/// The tokens of admitted viewers, each valid for one certificate, and the sessions that were opened with them.
///
/// Stores only hashes of tokens. ``TokenTable`` defines their lifetime and number.
final class AdmissionRegistry: Sendable {
    struct Admission: Sendable {
        var viewer: Viewer?
        /// True for the host's fixed token, which is valid for every certificate.
        var isFixed: Bool { viewer == nil }
    }

    typealias SessionOwner = SessionTable.Owner
    typealias Reservation = SessionTable.Reservation

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

        /// Returns the limit that leaves the owner no room for another session with the fixed token; nil: none.
        func full(_ owner: SessionOwner, _ taken: [SessionOwner]) -> PairingRegistry.Full? {
            let own = taken.filter(\.isFixed)
            guard own.count(where: { $0.fingerprint == owner.fingerprint }) < perFixedCertificate else {
                return .certificate(perFixedCertificate)
            }
            let shares = AddressShares(own.map(\.address))
            guard shares.hasRoom(for: owner.address, share: perFixedAddress, of: all) else {
                return .address(perFixedAddress, of: all)
            }
            return nil
        }
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
        var sessions: SessionTable
        /// Certificates that the host has removed while they used the fixed token; the oldest is first.
        var removedCertificates: [[UInt8]] = []

        mutating func remove(_ id: SessionID) -> Bool {
            guard let session = sessions.remove(id) else { return false }
            tokens.sessionEnded(session.token, now: .now)
            return true
        }

        /// Removes the sessions of these owners, and the reservations of those that are being opened.
        mutating func removeSessions(where isMeant: (SessionOwner) -> Bool) {
            for id in sessions.sessions(where: isMeant) { _ = remove(id) }
            sessions.releaseReservations(where: isMeant)
        }
    }

    private let state: Mutex<State>
    /// That of the fixed token; nil: there is none.
    let fixedToken: TokenHash?

    init(fixedToken: String?, limits: TokenTable.Limits) {
        self.fixedToken = fixedToken.map { TokenHash(of: $0) }
        state = Mutex(State(tokens: TokenTable(limits: limits), sessions: SessionTable(capacity: limits.all)))
    }

    /// Creates a token for the certificate of `viewer`; nil if there is no room for it.
    func admit(_ viewer: Viewer, from address: AddressKey) -> String? {
        let token = Base64URL.encode(randomBytes(32))
        let key = TokenHash(of: token)
        return state.withLock { $0.tokens.admit(key, viewer, from: address, now: .now) } ? token : nil
    }

    /// Returns whether `admit` would succeed.
    func hasRoom(for identity: ViewerIdentity, from address: AddressKey) -> Bool {
        state.withLock { $0.tokens.hasRoom(for: identity, from: address, now: .now) }
    }

    func admission(token: String) -> (key: TokenHash, Admission)? {
        let key = TokenHash(of: token)
        if key == fixedToken { return (key, Admission(viewer: nil)) }
        return state.withLock { state in state.tokens.use(key, now: .now).map { (key, Admission(viewer: $0)) } }
    }

    /// Whether an admission's token is valid. This is a use of it.
    func isValid(_ token: TokenHash) -> Bool {
        token == fixedToken || state.withLock { $0.tokens.use(token, now: .now) != nil }
    }

    /// The viewer of an admission, without a use of its token.
    func viewer(of token: TokenHash) -> Viewer? { state.withLock { $0.tokens.viewer(token) } }

    /// Takes note of an encrypted message of an admission.
    /// - Returns: false if it came before, or after a later one of the same carrier.
    func noteMessage(of token: TokenHash, counter: UInt64, by carrier: MessageCarrier) -> Bool {
        state.withLock { $0.tokens.noteMessage(token, counter: counter, by: carrier) }
    }

    /// Media reaches the viewer of a session.
    func noteMedia(_ session: SessionID) {
        state.withLock { state in
            guard let owner = state.sessions[session]?.owner, !owner.isFixed else { return }
            state.tokens.noteMedia(owner.token)
        }
    }

    /// Whether a token is a secret itself, or a person has accepted its viewer, or media has reached it.
    func isProven(_ token: TokenHash) -> Bool {
        token == fixedToken || state.withLock { $0.tokens.isProven(token) }
    }

    /// Checks `limits` and reserves a place for a session in one step. Call it before the host is asked.
    func reserve(_ owner: SessionOwner, limits: SessionLimits) -> Reserving {
        state.withLock { state in
            let taken = state.sessions.taken
            var replaced: SessionID?
            if owner.isFixed {
                // With this token, nothing proves who owns the offered certificate, so no session is replaced.
                guard limits.full(owner, taken) == nil else { return .tooManyOfOne }
            } else if taken.count(where: { $0.token == owner.token }) >= limits.perToken
                || taken.count(where: { $0.identity == owner.identity }) >= limits.perIdentity
            {
                guard let oldest = state.sessions.oldest(of: owner.token) else { return .tooManyOfOne }
                replaced = oldest
            }
            guard replaced != nil || taken.count < limits.all else { return .full }
            if let replaced { _ = state.remove(replaced) }
            state.tokens.sessionBegan(owner.token)
            return .reserved(state.sessions.reserve(owner), replaced: replaced)
        }
    }

}

extension AdmissionRegistry: SessionRegistry {
    static var mediaPath: String { "/whep" }

    func withSessions<Value: Sendable>(_ body: (inout SessionTable) -> Value) -> Value {
        state.withLock { body(&$0.sessions) }
    }

    func release(_ reservation: Reservation) {
        state.withLock { state in
            guard let owner = state.sessions.release(reservation) else { return }
            state.tokens.sessionFailed(owner.token)
        }
    }

    /// - Returns: false if the host has ended the session or removed its viewer meanwhile.
    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool {
        state.withLock { state in
            switch state.sessions.add(session, reservation) {
            case .added: return true
            case .ended(let owner):
                state.tokens.sessionEnded(owner.token, now: .now)
                return false
            case .unknown: return false
            }
        }
    }

    func end(_ id: SessionID) {
        state.withLock { state in
            guard let session = state.sessions.end(id) else { return }
            state.tokens.sessionEnded(session.token, now: .now)
        }
    }

    /// Withdraws what a viewer was granted, also for sessions that are still being opened. With the fixed token, which
    /// all its users share, its certificate is refused.
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

    /// The sessions by their certificates.
    func sessions(of fingerprints: [[UInt8]]) -> [[UInt8]: [SessionID]] {
        state.withLock { $0.sessions.sessions(of: Set(fingerprints)) }
    }

    static let removedCertificatesLimit = 1_024

    /// Whether the host has removed this certificate while it used the fixed token.
    func hasRemoved(certificate: [UInt8]) -> Bool { state.withLock { $0.removedCertificates.contains(certificate) } }

    @discardableResult
    func remove(_ id: SessionID) -> Bool { state.withLock { $0.remove(id) } }
}
