import HTTP
package import Identifiers
import Identity

/// The service's side of pairings, from the request to the end of the session, as a value without a clock or
/// randomness.
///
/// The service's user is asked only after the host has signed the transcript, which has the service's own new nonce.
/// Pairings are polled from the request on. A grant reserves one of the ``Limits/broadcasts`` until its session or its
/// lease ends. While others want a place, no address holds more than a quarter of them but by a person's decision
/// (``PairingTable+Places``).
package struct PairingTable: ApprovalMachine {
    let service: ServiceDescription
    let limits: Limits
    /// Nil if the service's link has no secret.
    private let secret: LinkSecretProof?
    /// Places that are taken without a pairing, by their addresses.
    package var otherPlaces: [AddressKey] = []
    /// Sessions that may end when their place is wanted, in this order.
    package var idleSessions: [SessionID] = []
    package var approvals: ApprovalTable<Request>
    var leases = PairingLeases()

    /// - Parameter secret: in the service's link; nil: it has none.
    package init(service: ServiceDescription, secret: [UInt8]? = nil, limits: Limits = Limits()) {
        self.service = service
        self.secret = secret.map { LinkSecretProof(secret: $0) }
        self.limits = limits
        approvals = ApprovalTable(limits: limits.approvals)
    }

    /// Grants and sessions.
    package var broadcastCount: Int { leases.count }

    // MARK: Requests of the host

    package mutating func open(_ request: Request, ticket: KnockID, now: Instant) -> (Opening, [Action]) {
        guard approvals.hasEnded || hasRoom(for: request) else { return (.busy, []) }
        let (opening, actions) = approvals.open(request, ticket: ticket, now: now)
        switch opening {
        case .opened: return (.opened, actions)
        case .full: return (.full, actions)
        case .ended: return (.ended, actions)
        }
    }

    /// Handles the host's acceptance.
    /// - Parameters:
    ///   - signature: 64 bytes, r | s.
    ///   - sealed: the setup as it has come over a relay.
    ///   - proof: that the host has the secret of the service's link; nil without one.
    ///   - question: a new random identifier for the question.
    package mutating func sign(
        _ ticket: KnockID, _ signature: [UInt8], setup: [String: String], sealed: [UInt8]? = nil,
        proof: [UInt8]? = nil, question: KnockID, now: Instant
    ) -> (Signing, [Action]) {
        guard let request = request(of: ticket) else { return (.unknown, []) }
        let signatureIsValid = request.transcript.isSigned(
            signature, by: .host, certificate: request.certificate, sealedSetup: sealed)
        var hasSecret = false
        if signatureIsValid, let secret, let proof {
            hasSecret = secret.isValid(proof, of: request.transcript, sealedSetup: sealed)
            guard hasSecret else { return (.wrongSecret, []) }
        }
        return sign(
            ticket, signatureIsValid: signatureIsValid, hasSecret: hasSecret, setup: setup, question: question,
            now: now)
    }

    /// - Parameters:
    ///   - signatureIsValid: whether the host has signed the transcript of this ticket's request.
    ///   - hasSecret: whether it has proven the link's secret.
    mutating func sign(
        _ ticket: KnockID, signatureIsValid: Bool, hasSecret: Bool = false, setup: [String: String],
        question: KnockID, now: Instant
    ) -> (Signing, [Action]) {
        guard let request = request(of: ticket) else { return (.unknown, []) }
        switch approvals.sign(ticket, signatureIsValid: signatureIsValid) {
        case .first: break
        case .repeated: return (.accepted, [])
        case .wrong(let actions): return (.wrong, actions)
        case .unknown: return (.unknown, [])
        }
        let values: [String: String]
        do throws(SetupError) {
            values = try service.setup(setup)
        } catch {
            return (.malformed(error), [])
        }
        let asked = PairingRequest(
            id: question, application: request.application, fingerprint: request.fingerprint,
            address: request.address.text, setup: values, hasLinkSecret: hasSecret)
        // A host that has got the link meanwhile asks anew.
        if let refusal = approvals.refusal(of: request.requester, asked, now: now) {
            return (.accepted, approvals.finish(ticket, .refused(refusal.reason), now))
        }
        guard hasRoom(for: request) else {
            return (.accepted, approvals.finish(ticket, .busy(Self.full(limits.broadcasts)), now))
        }
        // The host's grants without a session end. A session stays until the new pairing is granted.
        let unused = leases.unusedTickets(of: request.fingerprint).flatMap {
            endLease(of: $0, .replaced, because: .replaced, now)
        }
        return (.accepted, unused + approvals.ask(ticket, asked, now: now))
    }

    /// Ends a pairing because its host does not want it any more.
    package mutating func withdraw(_ ticket: KnockID, now: Instant) -> [Action] {
        guard let entry = approvals.entries[ticket] else { return [] }
        guard entry.isOver else { return approvals.withdraw(ticket, now: now) }
        return endLease(of: ticket, .withdrawn, because: .left, now)
    }

    // MARK: Answers of the service

    /// Returns an open question; nil if it is not open any more.
    package func request(asked question: KnockID) -> PairingRequest? { approvals.asked(question)?.question }

    /// Handles the answer of the service's user or policy.
    /// - Parameters:
    ///   - token: a new random token, used if the pairing is granted.
    ///   - broadcastURL: where people can see the broadcast.
    package mutating func decide(
        _ question: KnockID, _ decision: PairingDecision, token: String, broadcastURL: String? = nil, now: Instant
    ) -> [Action] {
        guard let (ticket, request, asked) = approvals.asked(question) else { return [] }
        switch decision {
        case .accepted, .acceptedByRule: break
        case .refused(let reason): return approvals.answer(question, .refused(reason), now: now)
        case .unanswered: return approvals.answer(question, .unanswered, now: now)
        case .busy: return approvals.answer(question, .busy(nil), now: now)
        }
        guard hasRoom(for: request) else {
            return approvals.answer(question, .busy(Self.full(limits.broadcasts)), now: now)
        }
        var actions: [Action] = []
        for older in leases.tickets(of: request.fingerprint) {
            actions += endLease(of: older, .replaced, because: .replaced, now)
        }
        actions += makeRoom(for: request.address.key, now)
        leases.add(
            asked, at: request.address.key, isAcceptedByPerson: decision == .accepted, ticket: ticket, token: token,
            until: now + limits.lease)
        let grant = PairingGrant(token: token, lease: limits.lease, broadcastURL: broadcastURL)
        return actions + approvals.answer(question, .granted(grant), now: now)
    }

    /// Ends all pairings and sessions. Later requests are refused.
    package mutating func end(now: Instant) -> [Action] {
        approvals.end(now: now) + leases.tickets.flatMap { endLease(of: $0, .ended, because: .ended, now) }
    }

    // MARK: Time

    package var nextDeadline: Instant? { [approvals.nextDeadline, leases.nextDeadline].compactMap(\.self).min() }

    package mutating func advance(now: Instant) -> [Action] {
        approvals.advance(now: now)
            + leases.expired(now).flatMap { endLease(of: $0, .expired, because: .silent, now) }
    }

    /// Ends a grant with its session. A poll that comes later gets `outcome` instead of the token.
    /// - Parameter reason: nil if the session is closed already.
    mutating func endLease(
        of ticket: KnockID, _ outcome: Outcome, because reason: SessionEnd?, _ now: Instant
    ) -> [Action] {
        guard let lease = leases.remove(ticket) else { return [] }
        var actions: [Action] = []
        if case .open(let session) = lease.state, let reason {
            actions = [.effect(.endSession(session, because: reason))]
        }
        return actions
            + (approvals.entries[ticket] == nil ? [.count(outcome)] : approvals.finish(ticket, outcome, now))
    }
}

extension PairingRequest: ApprovalQuestion {}
