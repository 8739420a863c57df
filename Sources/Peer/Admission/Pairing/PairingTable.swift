import HTTP
package import Identifiers
import Identity

/// The service's side of pairings, from the request to the end of the session, as a value without a clock or
/// randomness. See ``KnockTable``, its model.
///
/// Only the ticket gives access to a pairing. The service's user is asked only after the host has signed the transcript,
/// which has the service's own new nonce. A host has one signed pairing at a time, and its newer one replaces the older.
/// A grant reserves one of the ``Limits/broadcasts`` until its session or its lease ends. While others want a place, no
/// address holds more than a quarter of them but by a person's decision (``PairingTable+Places``).
package struct PairingTable: Sendable {
    package typealias Instant = ContinuousClock.Instant

    enum State: Hashable, Sendable {
        case unsigned
        case asked(PairingRequest)
        case finished(Outcome)
    }

    struct Entry: Hashable, Sendable {
        let request: Request
        let number: Int
        var state = State.unsigned
        /// When the state ends by itself.
        var deadline: Instant
        var polls = 0
        var unpolledSince: Instant

        var question: PairingRequest? {
            if case .asked(let question) = state { return question }
            return nil
        }
        var isUnsigned: Bool { state == .unsigned }
        var isOver: Bool {
            if case .finished = state { return true }
            return false
        }
    }

    struct Refusal: Hashable, Sendable {
        let reason: String?
        /// The refused request had the link's secret.
        let hadSecret: Bool
        let until: Instant
    }

    let service: ServiceDescription
    let limits: Limits
    /// Nil if the service's link has no secret.
    private let secret: LinkSecretProof?
    /// Places that are taken without a pairing, by their addresses.
    package var otherPlaces: [AddressKey] = []
    /// Sessions that may end when their place is wanted, in this order.
    package var idleSessions: [SessionID] = []
    private(set) var entries: [KnockID: Entry] = [:]
    var leases = PairingLeases()
    /// By the host's fingerprint.
    private(set) var refusals: [[UInt8]: Refusal] = [:]
    private var opened = 0
    private var hasEnded = false

    /// - Parameter secret: in the service's link; nil: it has none.
    package init(service: ServiceDescription, secret: [UInt8]? = nil, limits: Limits = Limits()) {
        self.service = service
        self.secret = secret.map { LinkSecretProof(secret: $0) }
        self.limits = limits
    }

    /// Questions that wait for an answer.
    package var questionCount: Int { entries.values.count { $0.question != nil } }
    /// Grants and sessions.
    package var broadcastCount: Int { leases.count }

    // MARK: Requests of the host

    package mutating func open(_ request: Request, ticket: KnockID, now: Instant) -> (Opening, [Action]) {
        guard !hasEnded else { return (.ended, []) }
        guard hasRoom(for: request) else { return (.busy, []) }
        var actions: [Action] = []
        // The fingerprint is a claim: only an unsigned pairing of the same address is replaced.
        let older = entries.filter { $0.value.isUnsigned && $0.value.request.isSameHost(as: request) }
        for other in older.keys { actions += finish(other, .replaced, now) }
        let pending = entries.filter { !$0.value.isOver }
        let shares = AddressShares(pending.values.map(\.request.address.key))
        let address = request.address.key
        guard shares.hasRoom(for: address, share: limits.pairingsOfAddress, of: limits.pairings) else {
            return (.full, actions)
        }
        if pending.count >= limits.pairings {
            let losers = shares.displaceable(pending.values.map(\.request.address.key), by: address)
            let candidates = pending.filter { losers.contains($0.value.request.address.key) }
            guard let newest = candidates.max(by: { $0.value.number < $1.value.number }) else {
                return (.full, actions)
            }
            actions += cancelQuestion(newest.value, .displaced) + finish(newest.key, .displaced, now)
        }
        opened += 1
        entries[ticket] = Entry(
            request: request, number: opened, deadline: now + limits.signature, unpolledSince: now)
        return (.opened, actions)
    }

    /// The request of a pairing that the table knows.
    package func request(of ticket: KnockID) -> Request? { entries[ticket]?.request }

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
        guard let request = entries[ticket]?.request else { return (.unknown, []) }
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
        guard let entry = entries[ticket] else { return (.unknown, []) }
        guard signatureIsValid else {
            guard entry.isUnsigned else { return (.wrong, []) }
            entries[ticket] = nil
            return (.wrong, [.endPolls(ticket: ticket, .unknown)])
        }
        guard entry.isUnsigned else { return (.accepted, []) }
        let values: [String: String]
        do throws(SetupError) {
            values = try service.setup(setup)
        } catch {
            return (.malformed(error), [])
        }
        // Who has got the link meanwhile asks anew.
        if let refusal = refusals[entry.request.fingerprint], refusal.until > now, refusal.hadSecret || !hasSecret {
            return (.accepted, finish(ticket, .refused(refusal.reason), now))
        }
        guard hasRoom(for: entry.request) else { return (.accepted, finish(ticket, .busy, now)) }
        return (.accepted, replaceOlder(than: ticket, entry, now) + ask(ticket, question, values, hasSecret, now))
    }

    /// Begins a poll. If it returns `.waiting`, the poll ends with `endPoll` or with an `endPolls` action for its
    /// ticket.
    package mutating func beginPoll(_ ticket: KnockID, now: Instant) -> PollResult {
        guard let entry = entries[ticket] else { return .unknown }
        if case .finished(let outcome) = entry.state { return .outcome(outcome) }
        entries[ticket]?.polls += 1
        return .waiting
    }

    package mutating func endPoll(_ ticket: KnockID, now: Instant) {
        guard let entry = entries[ticket], entry.polls > 0 else { return }
        entries[ticket]?.polls -= 1
        entries[ticket]?.unpolledSince = now
    }

    package func isKnown(_ ticket: KnockID) -> Bool { entries[ticket] != nil }

    /// Ends a pairing because its host does not want it any more.
    package mutating func withdraw(_ ticket: KnockID, now: Instant) -> [Action] {
        guard let entry = entries[ticket] else { return [] }
        guard entry.isOver else {
            return cancelQuestion(entry, .left) + finish(ticket, .withdrawn, now)
        }
        return endLease(of: ticket, .withdrawn, because: .left, now)
    }

    // MARK: Answers of the service

    /// Returns an open question; nil if it is not open any more.
    package func request(asked question: KnockID) -> PairingRequest? {
        ticket(of: question).flatMap { entries[$0]?.question }
    }

    /// Handles the answer of the service's user or policy.
    /// - Parameters:
    ///   - token: a new random token, used if the pairing is granted.
    ///   - broadcastURL: where people can see the broadcast.
    package mutating func decide(
        _ question: KnockID, _ decision: PairingDecision, token: String, broadcastURL: String? = nil, now: Instant
    ) -> [Action] {
        guard let ticket = ticket(of: question), let entry = entries[ticket], let request = entry.question else {
            return []
        }
        switch decision {
        case .accepted, .acceptedByRule: break
        case .refused(let reason):
            refuse(entry.request.fingerprint, reason, hadSecret: request.hasLinkSecret, now)
            return finish(ticket, .refused(reason), now)
        case .unanswered: return finish(ticket, .unanswered, now)
        case .busy: return finish(ticket, .busy, now)
        }
        guard hasRoom(for: entry.request) else { return finish(ticket, .busy, now) }
        var actions: [Action] = []
        for older in leases.tickets(of: request.fingerprint) {
            actions += endLease(of: older, .replaced, because: .replaced, now)
        }
        actions += makeRoom(for: entry.request.address.key, now)
        leases.add(
            request, at: entry.request.address.key, isAcceptedByPerson: decision == .accepted, ticket: ticket,
            token: token, until: now + limits.lease)
        let grant = PairingGrant(token: token, lease: limits.lease, broadcastURL: broadcastURL)
        return actions + finish(ticket, .granted(grant), now)
    }

    /// Ends all pairings and sessions. Later requests are refused.
    package mutating func end(now: Instant) -> [Action] {
        hasEnded = true
        var actions: [Action] = []
        for (ticket, entry) in entries where !entry.isOver {
            actions += cancelQuestion(entry, .ended) + finish(ticket, .ended, now)
        }
        for ticket in leases.tickets { actions += endLease(of: ticket, .ended, because: .ended, now) }
        return actions
    }

    // MARK: Time

    /// When `advance` has to be called; nil if nothing is scheduled.
    package var nextDeadline: Instant? {
        let pairings = entries.values.map { entry in
            guard !entry.isOver, entry.polls == 0 else { return entry.deadline }
            return min(entry.deadline, entry.unpolledSince + limits.abandoned)
        }
        return (pairings + [leases.nextDeadline].compactMap(\.self)).min()
    }

    package mutating func advance(now: Instant) -> [Action] {
        var actions: [Action] = []
        for (ticket, entry) in entries {
            switch entry.state {
            case .unsigned where now >= entry.deadline:
                entries[ticket] = nil
                actions.append(.endPolls(ticket: ticket, .unknown))
            case .asked where now >= entry.deadline:
                actions += cancelQuestion(entry, .unanswered) + finish(ticket, .unanswered, now)
            case .unsigned where entry.polls == 0 && now >= entry.unpolledSince + limits.abandoned,
                .asked where entry.polls == 0 && now >= entry.unpolledSince + limits.abandoned:
                actions += cancelQuestion(entry, .left) + [.count(.withdrawn)]
                entries[ticket] = nil
            case .finished where now >= entry.deadline: entries[ticket] = nil
            default: continue
            }
        }
        for ticket in leases.expired(now) { actions += endLease(of: ticket, .expired, because: .silent, now) }
        refusals = refusals.filter { $0.value.until > now }
        return actions
    }

    // MARK: Internals

    /// Ends a grant with its session. A poll that comes later gets `outcome` instead of the token.
    /// - Parameter reason: nil if the session is closed already.
    mutating func endLease(
        of ticket: KnockID, _ outcome: Outcome, because reason: SessionEnd?, _ now: Instant
    ) -> [Action] {
        guard let lease = leases.remove(ticket) else { return [] }
        var actions: [Action] = []
        if case .open(let session) = lease.state, let reason { actions.append(.endSession(session, because: reason)) }
        if entries[ticket] == nil { return actions + [.count(outcome)] }
        return actions + finish(ticket, outcome, now)
    }

    private func ticket(of question: KnockID) -> KnockID? {
        entries.first { $0.value.question?.id == question }?.key
    }

    /// Ends what the host of a newly signed pairing has left behind: its signed pairings, those that it never signed,
    /// and grants without a session. A session stays until the new pairing is granted.
    private mutating func replaceOlder(than ticket: KnockID, _ entry: Entry, _ now: Instant) -> [Action] {
        var actions: [Action] = []
        for (other, older) in entries where older.request.fingerprint == entry.request.fingerprint {
            guard !older.isOver, other != ticket, older.question != nil || older.number < entry.number else { continue }
            actions += cancelQuestion(older, .replaced) + finish(other, .replaced, now)
        }
        for other in leases.unusedTickets(of: entry.request.fingerprint) {
            actions += endLease(of: other, .replaced, because: .replaced, now)
        }
        return actions
    }

    private mutating func ask(
        _ ticket: KnockID, _ question: KnockID, _ setup: [String: String], _ hasSecret: Bool, _ now: Instant
    ) -> [Action] {
        guard var entry = entries[ticket] else { return [] }
        let request = PairingRequest(
            id: question, application: entry.request.application, fingerprint: entry.request.fingerprint,
            address: entry.request.address.text, setup: setup, hasLinkSecret: hasSecret)
        entry.state = .asked(request)
        entry.deadline = now + limits.answer
        entries[ticket] = entry
        return [.ask(request)]
    }

    private func cancelQuestion(_ entry: Entry, _ reason: Withdrawal) -> [Action] {
        entry.question.map { [.withdraw(question: $0.id, because: reason)] } ?? []
    }

    private mutating func refuse(_ fingerprint: [UInt8], _ reason: String?, hadSecret: Bool, _ now: Instant) {
        if refusals.count >= limits.refusals, let oldest = refusals.min(by: { $0.value.until < $1.value.until }) {
            refusals[oldest.key] = nil
        }
        refusals[fingerprint] = Refusal(reason: reason, hadSecret: hadSecret, until: now + limits.refusal)
    }

    private mutating func finish(_ ticket: KnockID, _ outcome: Outcome, _ now: Instant) -> [Action] {
        entries[ticket]?.state = .finished(outcome)
        entries[ticket]?.deadline = now + limits.kept
        entries[ticket]?.polls = 0
        let over = entries.filter { $0.value.isOver }
        if over.count > limits.outcomes, let oldest = over.min(by: { $0.value.deadline < $1.value.deadline }) {
            entries[oldest.key] = nil
        }
        return [.count(outcome), .endPolls(ticket: ticket, .outcome(outcome))]
    }
}

extension PairingTable.Request {
    /// Returns whether a request claims to be from the same host, at the same address.
    fileprivate func isSameHost(as other: PairingTable.Request) -> Bool {
        fingerprint == other.fingerprint && address.key == other.address.key
    }
}
