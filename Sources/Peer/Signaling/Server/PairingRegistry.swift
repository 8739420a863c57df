import Admission
import HTTP
import Identifiers
import Identity

/// Asks a service's delegate about pairings, and ends the sessions and event streams of tokens that have ended.
struct PairingApprovalHandler: ApprovalHandler {
    /// A consequence of a change of the state.
    enum Effect: Sendable {
        case close(SessionID, because: PairingTable.SessionEnd)
        case finish(TokenHash, ServiceEvent, pairing: KnockID)
    }

    let configuration: ServiceConfiguration
    let delegate: any ServiceDelegate
    let streams: EventStreams
    let tunnels: TunnelTable
    let counters: SignalingCounters

    func decide(_ request: PairingRequest) async -> PairingDecision { await delegate.decide(request) }

    func withdrawn(_ question: KnockID, because reason: KnockWithdrawal) async {
        await delegate.pairingWithdrawn(question)
    }

    func count(_ outcome: PairingTable.Outcome) { counters.count { $0.pairings.count(outcome) } }

    func take(_ decision: PairingDecision, on question: KnockID, _ state: inout State) -> [PairingTable.Action] {
        guard let request = state.table.request(asked: question) else { return [] }
        let token = Base64URL.encode(randomBytes(32))
        notePlaces(&state)
        let actions = state.table.decide(
            question, decision, token: token, broadcastURL: configuration.broadcastURL, now: .now)
        if state.table.pairing(token: token) != nil {
            state.grants[TokenHash(of: token)] = Grant(
                token: token, request: request, isTrusted: request.hasLinkSecret || decision == .accepted)
        }
        return actions
    }

    func follow(_ effect: PairingTable.Request.Effect, _ state: inout State) -> [Effect] {
        switch effect {
        case .endSession(let session, let reason):
            if let owner = state.sessions.remove(session)?.token {
                state.setFinal(reason.event(configuration), of: owner)
            }
            return [.close(session, because: reason)]
        }
    }

    /// Ends what the tokens that the table has forgotten leave behind.
    func settle(_ state: inout State) -> [Effect] {
        var effects: [Effect] = []
        for (owner, grant) in state.grants where state.table.pairing(token: grant.token) == nil {
            state.grants[owner] = nil
            let unused = ServiceEvent.finished(
                reason: "no media came within \(configuration.pairingLimits.lease.components.seconds) s", nextStep: nil)
            state.setFinal(unused, of: owner)
            // The publication of a host that had a tunnel has no lease of its own.
            for session in state.sessions.sessions(of: owner) where state.publications.remove(session) != nil {
                _ = state.sessions.remove(session)
                effects.append(.close(session, because: .ended))
            }
            let final = state.finals.first { $0.owner == owner }?.event ?? unused
            effects.append(.finish(owner, final, pairing: grant.request.id))
        }
        return effects
    }

    func perform(_ effect: Effect) {
        let delegate = delegate
        switch effect {
        case .close(let session, let reason):
            switch reason {
            case .replaced:
                tunnels.end(session, reason: "the same certificate was paired anew", .replaced)
            case .displaced: tunnels.end(session, reason: PairingTable.SessionEnd.displacedText)
            case .idle: tunnels.end(session, reason: PairingTable.SessionEnd.idleText)
            case .silent, .left, .ended: tunnels.end(session, reason: "the host has gone")
            }
            Task { await delegate.closeSession(session) }
        case .finish(let owner, let event, let pairing):
            streams.finish(owner, event)
            Task { await delegate.pairingEnded(pairing) }
        }
    }

    /// Tells the table which places tools with the fixed token have and, if all are taken, which sessions are idle.
    /// - Parameter replaced: a session whose place another one takes.
    func notePlaces(_ state: inout State, except replaced: SessionID? = nil) {
        state.table.otherPlaces = state.sessions.taken(except: replaced).filter(\.isFixed).map(\.address)
        guard state.table.isFull else {
            state.table.idleSessions = []
            return
        }
        // The viewers of a host that publishes here, too, are not at its tunnel.
        state.table.idleSessions = tunnels.idle(since: .now - configuration.idleTunnelTimeout).filter { session in
            state.sessions[session].map { state.sessions.sessions(of: $0.token) == [session] } ?? false
        }
    }
}

/// Runs the pairings of a service, and keeps its sessions.
typealias PairingRegistry = ApprovalRegistry<PairingApprovalHandler>

extension PairingRegistry {
    /// - Parameter poll: how long a poll is held.
    convenience init(
        _ configuration: ServiceConfiguration, delegate: any ServiceDelegate, streams: EventStreams,
        tunnels: TunnelTable, counters: SignalingCounters, poll: Duration
    ) {
        self.init(
            PairingApprovalHandler(
                configuration: configuration, delegate: delegate, streams: streams, tunnels: tunnels,
                counters: counters),
            State(
                table: PairingTable(
                    service: configuration.description, secret: configuration.linkSecret,
                    limits: configuration.pairingLimits),
                sessions: SessionTable(capacity: max(64, configuration.sessionCapacity)),
                fixed: configuration.fixedToken.map { TokenHash(of: $0) }),
            poll: poll)
    }

    // MARK: Requests of the host

    /// - Returns: the ticket of the new pairing, valid if the first value is `.opened`.
    func open(_ request: PairingTable.Request) -> (PairingTable.Opening, ticket: KnockID) {
        let ticket = KnockID.random()
        let opening = change { state in
            handler.notePlaces(&state)
            return state.table.open(request, ticket: ticket, now: .now)
        }
        return (opening, ticket)
    }

    /// - Parameters:
    ///   - sealed: the setup as it has come over a relay.
    ///   - proof: that the host has the link's secret.
    func sign(
        _ ticket: KnockID, _ signature: [UInt8], setup: [String: String], sealed: [UInt8]? = nil, proof: [UInt8]? = nil
    ) -> PairingTable.Signing {
        change { state in
            handler.notePlaces(&state)
            return state.table.sign(
                ticket, signature, setup: setup, sealed: sealed, proof: proof, question: .random(), now: .now)
        }
    }

    /// Returns the bytes that the host and this service sign; nil if the pairing is not known.
    func transcript(of ticket: KnockID) -> PairingTranscript? {
        withState { $0.table.request(of: ticket)?.transcript }
    }

    /// Ends all pairings and sessions. Later requests are refused.
    func end(_ event: ServiceEvent) {
        if case .finished(let reason, _) = event {
            for session in withState({ $0.sessions.all }) {
                handler.tunnels.end(session, reason: reason, .relayStopped)
            }
        }
        change { state in
            for owner in state.grants.keys { state.setFinal(event, of: owner) }
            return ((), state.table.end(now: .now))
        }
        // Those of WHIP tools with the fixed token.
        for session in withState({ $0.sessions.removeAll() }) { handler.perform(.close(session, because: .ended)) }
    }

    /// Ends the tunnel for which a session stands, if it is such a session.
    func endTunnel(_ session: SessionID, reason: String) { handler.tunnels.end(session, reason: reason) }
}

extension PairingTable.SessionEnd {
    fileprivate static let displacedText = "all places are taken, and your address has more of them than others"
    fileprivate static let idleText = "all places are taken, and nobody came to this one for some time"

    fileprivate func event(_ configuration: ServiceConfiguration) -> ServiceEvent {
        switch self {
        case .silent:
            .finished(
                reason: "no media came for \(configuration.pairingLimits.silence.components.seconds) s", nextStep: nil)
        case .left: .left
        case .replaced: .finished(reason: "the same host broadcasts anew", nextStep: nil)
        case .displaced: .finished(reason: Self.displacedText, nextStep: nil)
        case .idle: .finished(reason: Self.idleText, nextStep: nil)
        case .ended: .finished(reason: "the service has stopped", nextStep: nil)
        }
    }
}
