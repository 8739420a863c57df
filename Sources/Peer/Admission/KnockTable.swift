import HTTP
package import Identifiers
import Identity

/// The state machine of knocks, from the challenge to the answer, as a value without a clock or randomness.
///
/// Only the ticket gives access to a knock. The host is asked only after the identity has signed the challenge. An
/// identity has one open question for watching and one for recording, and its newer knock replaces the older one of
/// that kind. A refusal applies to the identity for ``Limits/refusal``.
package struct KnockTable: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private enum State {
        case unsigned
        case asked(question: KnockID)
        /// Signed, but not polled for some time.
        case abandoned
        case finished(Outcome)
    }

    private struct Entry {
        let request: Request
        let number: Int
        var state = State.unsigned
        /// When the state ends by itself.
        var deadline: Instant
        var polls = 0
        var unpolledSince: Instant
        var asks = 0

        var question: KnockID? {
            if case .asked(let question) = state { return question }
            return nil
        }
        var isUnsigned: Bool {
            if case .unsigned = state { return true }
            return false
        }
        var isOver: Bool {
            switch state {
            case .unsigned, .asked: false
            case .abandoned, .finished: true
            }
        }
    }

    private struct Refusal {
        let reason: String?
        let until: Instant
    }

    private let limits: Limits
    private var entries: [KnockID: Entry] = [:]
    private var refusals: [ViewerIdentity: Refusal] = [:]
    private var opened = 0
    private var hasEnded = false

    package init(limits: Limits) { self.limits = limits }

    /// Questions that wait for an answer.
    var questionCount: Int { entries.values.count { $0.question != nil } }

    // MARK: Requests of the viewer

    /// Adds a knock whose proof was right.
    package mutating func open(_ request: Request, ticket: KnockID, now: Instant) -> (Opening, [Action]) {
        guard !hasEnded else { return (.ended, []) }
        guard room(for: request) != .none else { return (.full, []) }
        var actions: [Action] = []
        let unsigned = entries.filter { $0.value.isUnsigned }
        let shares = AddressShares(unsigned.values.map(\.request.address.key))
        let address = request.address.key
        if !shares.hasRoom(for: address, share: limits.unsignedOfAddress, of: limits.unsigned) {
            let own = unsigned.filter { $0.value.request.address.key == address }
            guard let oldest = own.min(by: { $0.value.number < $1.value.number }) else { return (.full, []) }
            entries[oldest.key] = nil
            actions.append(.endPolls(ticket: oldest.key, .unknown))
        } else if unsigned.count >= limits.unsigned {
            let losers = shares.displaceable(shares.addresses, by: address)
            let candidates = unsigned.filter { losers.contains($0.value.request.address.key) }
            guard let newest = candidates.max(by: { $0.value.number < $1.value.number }) else { return (.full, []) }
            entries[newest.key] = nil
            actions.append(.endPolls(ticket: newest.key, .unknown))
        }
        opened += 1
        entries[ticket] = Entry(
            request: request, number: opened, deadline: now + limits.signature, unpolledSince: now)
        return (.opened, actions)
    }

    /// Handles the signature of the challenge. A wrong one ends the knock, unless the challenge was signed correctly
    /// before.
    /// - Parameters:
    ///   - question: a new random identifier for the question.
    ///   - hasRoom: whether this request could get a token.
    package mutating func sign(
        _ ticket: KnockID, _ signature: [UInt8], certificate: [UInt8]?, question: KnockID, now: Instant,
        hasRoom: (Request) -> Bool = { _ in true }
    ) -> (Signing, [Action]) {
        guard let entry = entries[ticket] else { return (.unknown, []) }
        let identity = entry.request.identity
        guard entry.request.challenge.isSigned(signature, certificate: certificate) else {
            guard entry.isUnsigned else { return (.wrong, []) }
            entries[ticket] = nil
            return (.wrong, [.endPolls(ticket: ticket, .unknown)])
        }
        guard entry.isUnsigned else { return (.accepted, []) }
        guard !hasEnded else { return (.ended, finish(ticket, .ended, now)) }
        if let refusal = refusals[identity], refusal.until > now {
            let seconds = Int(((refusal.until - now) / .seconds(1)).rounded(.up))
            entries[ticket] = nil
            let outcome = Outcome.refused(refusal.reason)
            return (
                .refusedBefore(refusal.reason, seconds: max(1, seconds)),
                [.count(outcome), .endPolls(ticket: ticket, .outcome(outcome))]
            )
        }
        let room = room(for: entry.request)
        guard room != .none else { return (.full, []) }
        guard hasRoom(entry.request) else { return (.crowded, []) }
        return (.accepted, displace(room, now) + ask(ticket, question, now))
    }

    /// Begins a poll. If it returns `.waiting`, the poll ends with `endPoll` or with an `endPolls` action for its
    /// ticket.
    /// - Parameter question: a new random identifier for the question, used if the poll revives an abandoned knock.
    package mutating func beginPoll(_ ticket: KnockID, question: KnockID, now: Instant) -> (PollResult, [Action]) {
        guard var entry = entries[ticket] else { return (.unknown, []) }
        switch entry.state {
        case .finished(let outcome): return (.outcome(outcome), [])
        case .unsigned, .asked: break
        case .abandoned:
            let room = room(for: entry.request)
            guard !hasEnded, entry.asks < limits.asks, room != .none,
                refusals[entry.request.identity].map({ $0.until <= now }) ?? true
            else { return (.unknown, []) }
            entry.polls = 1
            entries[ticket] = entry
            return (.waiting, displace(room, now) + ask(ticket, question, now))
        }
        entry.polls += 1
        entries[ticket] = entry
        return (.waiting, [])
    }

    package mutating func endPoll(_ ticket: KnockID, now: Instant) {
        guard var entry = entries[ticket], entry.polls > 0 else { return }
        entry.polls -= 1
        entry.unpolledSince = now
        entries[ticket] = entry
    }

    package func isKnown(_ ticket: KnockID) -> Bool { entries[ticket] != nil }

    /// Withdraws a knock because its viewer has left.
    package mutating func withdraw(_ ticket: KnockID, now: Instant) -> [Action] {
        guard let entry = entries[ticket], !entry.isOver else { return [] }
        if entry.isUnsigned {
            entries[ticket] = nil
            return [.endPolls(ticket: ticket, .unknown)]
        }
        return cancelQuestion(entry, .left) + finish(ticket, .withdrawn, now)
    }

    // MARK: Answers of the host

    /// Returns the request of an open question; nil if the question is not open any more.
    package func request(asked question: KnockID) -> Request? { ticket(of: question).flatMap { entries[$0]?.request } }

    package mutating func answer(_ question: KnockID, _ outcome: Outcome, now: Instant) -> [Action] {
        guard let ticket = ticket(of: question), let identity = entries[ticket]?.request.identity else { return [] }
        if case .refused(let reason) = outcome {
            if refusals.count >= limits.refusals, let oldest = refusals.min(by: { $0.value.until < $1.value.until }) {
                refusals[oldest.key] = nil
            }
            refusals[identity] = Refusal(reason: reason, until: now + limits.refusal)
        }
        return finish(ticket, outcome, now)
    }

    /// Ends all knocks. Later ones are refused.
    package mutating func end(now: Instant) -> [Action] {
        hasEnded = true
        var actions: [Action] = []
        for (ticket, entry) in entries where !entry.isOver {
            actions += cancelQuestion(entry, .ended) + finish(ticket, .ended, now)
        }
        return actions
    }

    // MARK: Time

    /// When `advance` has to be called; nil if nothing is scheduled.
    package var nextDeadline: Instant? {
        entries.values.map { entry in
            guard entry.question != nil, entry.polls == 0 else { return entry.deadline }
            return min(entry.deadline, entry.unpolledSince + limits.abandoned)
        }.min()
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
            case .asked where entry.polls == 0 && now >= entry.unpolledSince + limits.abandoned:
                entries[ticket]?.state = .abandoned
                entries[ticket]?.deadline = now + limits.kept
                actions += cancelQuestion(entry, .left) + [.count(.withdrawn)]
            case .abandoned where now >= entry.deadline, .finished where now >= entry.deadline:
                entries[ticket] = nil
            default: continue
            }
        }
        refusals = refusals.filter { $0.value.until > now }
        return actions
    }

    // MARK: Internals

    private func ticket(of question: KnockID) -> KnockID? {
        entries.first { $0.value.question == question }?.key
    }

    private enum Room: Equatable {
        case free
        case insteadOf(KnockID)
        case none
    }

    /// Returns whether there is room for a question of this request. An open question that the request replaces does not
    /// count, as it is replaced. Neither do those with a pass: they need nobody's answer, and only viewers who were
    /// admitted have one.
    private func room(for request: Request) -> Room {
        guard request.pass == nil else { return .free }
        let others = entries.filter {
            $0.value.question != nil && $0.value.request.pass == nil && !$0.value.request.isReplaced(by: request)
        }
        let shares = AddressShares(others.values.map(\.request.address.key))
        let address = request.address.key
        guard shares.hasRoom(for: address, share: limits.questionsOfAddress, of: limits.questions) else { return .none }
        guard others.count >= limits.questions else { return .free }
        let losers = shares.displaceable(shares.addresses, by: address)
        let newest = others.filter { losers.contains($0.value.request.address.key) }
            .max { $0.value.number < $1.value.number }
        return newest.map { .insteadOf($0.key) } ?? .none
    }

    private mutating func displace(_ room: Room, _ now: Instant) -> [Action] {
        guard case .insteadOf(let ticket) = room, let entry = entries[ticket] else { return [] }
        return cancelQuestion(entry, .displaced) + finish(ticket, .displaced, now)
    }

    private mutating func ask(_ ticket: KnockID, _ question: KnockID, _ now: Instant) -> [Action] {
        guard var entry = entries[ticket] else { return [] }
        var actions: [Action] = []
        for (other, older) in entries where older.request.isReplaced(by: entry.request) && other != ticket {
            guard older.question != nil else { continue }
            actions += cancelQuestion(older, .replaced) + finish(other, .replaced, now)
        }
        entry.state = .asked(question: question)
        entry.deadline = now + limits.answer
        entry.unpolledSince = now
        entry.asks += 1
        entries[ticket] = entry
        let request = entry.request
        let knock = Knock(
            id: question, name: request.name, kind: request.kind, address: request.address.text,
            identity: request.identity, records: request.records, pass: request.pass,
            words: request.challenge.words)
        return actions + [.ask(knock)]
    }

    private func cancelQuestion(_ entry: Entry, _ reason: KnockWithdrawal) -> [Action] {
        entry.question.map { [.withdraw(question: $0, because: reason)] } ?? []
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
