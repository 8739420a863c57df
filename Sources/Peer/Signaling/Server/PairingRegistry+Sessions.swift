import Admission
import HTTP
import Identifiers

extension PairingRegistry {
    enum Admission: Sendable {
        case paired(PairingRequest, token: String)
        /// The service's fixed token, which is valid for every certificate.
        case fixed
        /// The token has ended, with this event.
        case ended(ServiceEvent)

        var isValid: Bool {
            if case .ended = self { false } else { true }
        }
    }

    func admission(token: String) -> (owner: TokenHash, Admission)? {
        let owner = TokenHash(of: token)
        return withState { state in
            if state.fixed == owner { return (owner, .fixed) }
            if let grant = state.grants[owner] { return (owner, .paired(grant.request, token: token)) }
            return state.finals.first { $0.owner == owner }.map { (owner, .ended($0.event)) }
        }
    }

    /// A session's place, and the token of its pairing; nil with the fixed token, and for the publication of a host
    /// that has a tunnel: the session is the tunnel's.
    struct Reservation: Sendable {
        let place: SessionTable.Reservation
        let token: String?
        var isOfTunnel = false
        /// A silent session that this one replaces.
        var replaces: SessionID?
    }

    /// The limit that leaves no room for another session with the fixed token, with its value.
    enum Full: Sendable {
        case service(Int)
        case address(Int, of: Int)
        case certificate(Int)

        var sentence: String {
            switch self {
            case .service(let places): PairingTable.full(places)
            case .address(let places, let all):
                "your address has as many broadcasts as it may have (\(places) of \(all) places); end one, or try again in 5 s"
            case .certificate(let places):
                "this certificate has as many broadcasts as it may have (\(places))"
            }
        }
    }

    enum Reserving: Sendable {
        case reserved(Reservation)
        case otherCertificate
        /// The token has a session.
        case taken
        case ended
        /// There is no room for another session with the fixed token.
        case full(Full)
    }

    /// Reserves the place of a session. Call it before the delegate is asked.
    /// - Parameters:
    ///   - token: of a pairing; nil for the fixed token.
    ///   - silent: sessions like it (``sessions(like:)``) whose publishers are not heard any more. It replaces the
    ///     first.
    func reserve(_ owner: SessionTable.Owner, token: String?, silent: [SessionID] = []) -> Reserving {
        change { state in
            guard let token else {
                let replaced = silent.first { state.sessions[$0] != nil && !state.replaced.contains($0) }
                let taken = state.sessions.taken(except: replaced)
                let limits = AdmissionRegistry.SessionLimits(all: handler.configuration.sessionCapacity)
                if let full = limits.full(owner, taken) { return (.full(full), []) }
                handler.notePlaces(&state, except: replaced)
                let actions = state.table.makeRoom(for: owner.address, .now)
                guard !state.table.isFull else { return (.full(.service(limits.all)), actions) }
                if let replaced { state.replaced.insert(replaced) }
                let place = state.sessions.reserve(owner)
                return (.reserved(Reservation(place: place, token: nil, replaces: replaced)), actions)
            }
            switch state.table.beginSession(token: token, fingerprint: owner.fingerprint, now: .now) {
            case .opening: return (.reserved(Reservation(place: state.sessions.reserve(owner), token: token)), [])
            case .unknownToken: return (.ended, [])
            case .otherCertificate: return (.otherCertificate, [])
            case .taken:
                // A host with a tunnel may publish, too, once at a time.
                let taken = state.sessions.taken.count { $0.token == owner.token }
                guard let session = state.sessions.oldest(of: owner.token), taken == 1, handler.tunnels.has(session)
                else {
                    return (.taken, [])
                }
                let place = state.sessions.reserve(owner)
                return (.reserved(Reservation(place: place, token: nil, isOfTunnel: true)), [])
            }
        }
    }

    /// The sessions with the fixed token from the same address, which may be those of a publisher that comes again.
    func sessions(like owner: SessionTable.Owner) -> [SessionID] {
        guard owner.isFixed else { return [] }
        return withState { state in
            state.sessions.sessions { $0.isFixed && $0.token == owner.token && $0.address == owner.address }
                .filter { !state.replaced.contains($0) }
        }
    }

    /// - Parameter duration: how long the session lives without another call; nil: as configured.
    func mediaReceived(_ session: SessionID, lasting duration: Duration? = nil) {
        withState { state in
            state.table.mediaReceived(session, lasting: duration, now: .now)
            // A tunnel has no media here.
            guard duration == nil, let owner = state.sessions[session]?.token else { return }
            state.grants[owner]?.isTrusted = true
        }
    }

    /// Handles that the host of a tunnel is connected. A tunnel to which nobody has come for long ends, also while
    /// nobody else wants its place, unless a person has accepted its host, the host has the secret of the link, or its
    /// viewers are here.
    /// - Parameter duration: how long the tunnel lives without another call.
    func keep(_ tunnel: ReverseTunnel, for duration: Duration) {
        let session = tunnel.session
        let mayEnd = withState { state in
            state.sessions.sessions(of: tunnel.owner) == [session] && !state.table.isAcceptedByPerson(session)
                && state.grants[tunnel.owner]?.isTrusted != true
        }
        guard mayEnd, tunnel.closeIfIdle(for: handler.configuration.emptyTunnelTimeout) else {
            return mediaReceived(session, lasting: duration)
        }
        finish(session, .finished(reason: "nobody came to this broadcast for a long time", nextStep: nil))
        Task { [handler] in await handler.delegate.closeSession(session) }
    }

    /// Whether the owner of a token is more than a stranger: see ``Grant/isTrusted``. The fixed token is a secret
    /// itself.
    func isTrusted(_ owner: TokenHash) -> Bool {
        withState { $0.fixed == owner || $0.grants[owner]?.isTrusted ?? false }
    }

    /// Ends a session with an event of the service's own, and its token with it. The delegate has closed the session,
    /// or closes it itself.
    func finish(_ session: SessionID, _ event: ServiceEvent) {
        if case .finished(let reason, _) = event { endTunnel(session, reason: reason) }
        change { state in
            let owner = state.sessions.end(session)?.owner
            guard state.publications.remove(session) == nil else {
                // The tunnel goes on.
                if let owner { handler.streams.finish(owner.token, event) }
                return ((), [])
            }
            if let owner, !owner.isFixed { state.setFinal(event, of: owner.token) }
            return ((), state.table.sessionEnded(session, now: .now))
        }
    }

    /// The final event of a token that has ended.
    func final(of owner: TokenHash) -> ServiceEvent? {
        withState { state in state.finals.first { $0.owner == owner }?.event }
    }

}

extension PairingRegistry: SessionRegistry {
    static var mediaPath: String { "/whip" }

    func withSessions<Value: Sendable>(_ body: (inout SessionTable) -> Value) -> Value {
        withState { body(&$0.sessions) }
    }

    func add(_ session: OpenedSession, _ reservation: Reservation) -> Bool {
        change { state in
            let addition = state.sessions.add(session, reservation.place)
            guard let token = reservation.token else {
                if let replaced = reservation.replaces { state.replaced.remove(replaced) }
                guard case .added = addition else { return (false, []) }
                if let replaced = reservation.replaces { _ = state.sessions.remove(replaced) }
                guard reservation.isOfTunnel else { return (true, []) }
                // The pairing may have ended while the offer was answered.
                guard let owner = state.sessions[session.id]?.token, state.grants[owner] != nil else {
                    _ = state.sessions.remove(session.id)
                    return (false, [])
                }
                state.publications.insert(session.id)
                return (true, [])
            }
            guard state.table.sessionOpened(token: token, session.id, now: .now) else {
                _ = state.sessions.remove(session.id)
                return (false, [])
            }
            if case .added = addition { return (true, []) }
            return (false, state.table.sessionEnded(session.id, now: .now))
        }
    }

    func release(_ reservation: Reservation) {
        change { state in
            _ = state.sessions.release(reservation.place)
            if let replaced = reservation.replaces { state.replaced.remove(replaced) }
            if let token = reservation.token { state.table.sessionFailed(token: token) }
            return ((), [])
        }
    }

    @discardableResult
    func remove(_ id: SessionID) -> Bool {
        endTunnel(id, reason: "the host has left")
        return change { state in
            guard let owner = state.sessions.remove(id)?.owner else { return (false, []) }
            guard state.publications.remove(id) == nil else { return (true, []) }
            if !owner.isFixed { state.setFinal(.left, of: owner.token) }
            return (true, state.table.sessionEnded(id, now: .now))
        }
    }

    func end(_ id: SessionID) { finish(id, .finished(reason: "the service ended the broadcast", nextStep: nil)) }
}

extension ServiceEvent {
    static let left = ServiceEvent.finished(reason: "the host has left", nextStep: nil)
}
