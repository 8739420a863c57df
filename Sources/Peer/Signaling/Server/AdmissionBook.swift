internal import Crypto
import Synchronization

/// Who was let in: tokens, each for one certificate, and the sessions opened with them.
///
/// Holds only hashes of tokens. At most `capacity` admissions; the oldest without a session goes first.
final class AdmissionBook: Sendable {
    typealias TokenHash = SHA256.Digest

    struct Admission: Sendable {
        var viewer: Viewer?
        var name: String { viewer?.name ?? "" }
        /// True for the host's fixed token, which is for any certificate.
        var isFixed: Bool { viewer == nil }
    }

    struct Session: Sendable {
        let owner: TokenHash
        let number: Int
        var etag: String
    }

    private struct State {
        var admissions: [TokenHash: Admission] = [:]
        var order: [TokenHash] = []
        var sessions: [SessionID: Session] = [:]
        var sessionsOpened = 0
        /// What was found after the answer; perhaps before the session is known here.
        var late: [SessionID: String] = [:]
    }

    private let state = Mutex(State())
    private let fixed: TokenHash?
    private let capacity: Int

    init(fixedToken: String?, capacity: Int) {
        fixed = fixedToken.map(Self.hash)
        self.capacity = capacity
    }

    static func hash(_ token: String) -> TokenHash { SHA256.hash(data: Array(token.utf8)) }

    /// A new token for the certificate of `viewer`.
    func admit(_ viewer: Viewer) -> String {
        let token = Base64URL.encode(randomBytes(32))
        let key = Self.hash(token)
        state.withLock { state in
            if state.order.count >= capacity {
                let busy = Set(state.sessions.values.map(\.owner))
                if let index = state.order.firstIndex(where: { !busy.contains($0) }) {
                    state.admissions[state.order.remove(at: index)] = nil
                }
            }
            state.admissions[key] = Admission(viewer: viewer)
            state.order.append(key)
        }
        return token
    }

    /// Compares hashes, so that time tells nothing about the token.
    func admission(token: String) -> (key: TokenHash, Admission)? {
        let key = Self.hash(token)
        if let fixed, fixed == key { return (key, Admission(viewer: nil)) }
        return state.withLock { state in state.admissions[key].map { (key, $0) } }
    }

    func add(_ session: OpenedSession, owner: TokenHash) {
        state.withLock { state in
            state.sessionsOpened += 1
            state.sessions[session.id] = Session(owner: owner, number: state.sessionsOpened, etag: session.etag)
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

    /// Removes and returns the oldest session of `owner` if it has `limit` or more: a viewer that came again without goodbye.
    func removeOldest(of owner: TokenHash, ifAtLeast limit: Int) -> SessionID? {
        state.withLock { state in
            let own = state.sessions.filter { $0.value.owner == owner }
            guard own.count >= limit, let oldest = own.min(by: { $0.value.number < $1.value.number }) else {
                return nil
            }
            state.sessions[oldest.key] = nil
            state.late[oldest.key] = nil
            return oldest.key
        }
    }

    var sessionCount: Int { state.withLock { $0.sessions.count } }

    /// - Returns: false if there is none.
    @discardableResult
    func remove(_ id: SessionID) -> Bool {
        state.withLock { state in
            state.late[id] = nil
            return state.sessions.removeValue(forKey: id) != nil
        }
    }
}
