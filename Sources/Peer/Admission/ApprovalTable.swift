import HTTP
import Identifiers
import Identity

/// The state machine of requests for an approval, from the challenge to the answer, as a value without a clock or
/// randomness.
///
/// Only the ticket gives access to a request. A person is asked only after the requester has signed. A newer request of
/// the same requester and purpose replaces the older one. A refusal applies to the requester for
/// ``ApprovalLimits/refusal``.
package struct ApprovalTable<Request: ApprovalRequest>: Sendable {
    package typealias Instant = ContinuousClock.Instant

    enum State: Sendable {
        case unsigned
        case asked(Request.Question)
        /// Signed, but not polled for some time.
        case abandoned(Request.Question)
        case finished(Outcome)
    }

    struct Entry: Sendable {
        var request: Request
        let number: Int
        var state = State.unsigned
        /// When the state ends by itself.
        var deadline: Instant
        var polls = 0
        var unpolledSince: Instant
        var asks = 0

        var question: Request.Question? {
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

    struct Refusal: Sendable {
        let reason: String?
        /// The refused request had the link's secret.
        let hadSecret: Bool
        let until: Instant
    }

    private enum Room {
        case free
        case insteadOf(KnockID)
        /// The address has its share.
        case shareTaken
        case none
    }

    /// Questions of strangers, in all.
    private static var placesOfStrangers: Int { 2 }

    let limits: ApprovalLimits
    private(set) var entries: [KnockID: Entry] = [:]
    private(set) var refusals: [Request.Requester: Refusal] = [:]
    private var opened = 0
    private(set) var hasEnded = false

    init(limits: ApprovalLimits) { self.limits = limits }

    /// Questions that wait for an answer.
    var questionCount: Int { entries.values.count { $0.question != nil } }

    // MARK: The requester

    /// Adds a request that waits for its signature.
    mutating func open(_ request: Request, ticket: KnockID, now: Instant) -> (Opening, [Action]) {
        guard !hasEnded else { return (.ended, []) }
        var actions: [Action] = []
        if let places = limits.unsigned {
            guard hasRoom(for: request) else { return (.full, []) }
            let unsigned = entries.filter(\.value.isUnsigned)
            switch room(for: request.address.key, among: unsigned, places) {
            case .free: break
            case .insteadOf(let newest): actions = remove(newest)
            case .shareTaken:
                let own = unsigned.filter { $0.value.request.address.key == request.address.key }
                guard let oldest = own.min(by: { $0.value.number < $1.value.number }) else { return (.full, []) }
                actions = remove(oldest.key)
            case .none: return (.full, [])
            }
        } else {
            // The requester is a claim: only an unsigned request of the same address is replaced.
            for (other, older) in entries
            where older.isUnsigned && older.request.address.key == request.address.key
                && older.request.isReplaced(by: request)
            {
                actions += finish(other, .replaced, now)
            }
            switch room(for: request.address.key, among: entries.filter { !$0.value.isOver }, limits.questions) {
            case .free: break
            case .insteadOf(let newest): actions += finish(newest, .displaced, because: .displaced, now)
            case .shareTaken, .none: return (.full, actions)
            }
        }
        opened += 1
        entries[ticket] = Entry(
            request: request, number: opened, deadline: now + limits.signature, unpolledSince: now)
        return (.opened, actions)
    }

    /// Takes note of a signature. A wrong one ends the request, unless it was signed before.
    mutating func sign(_ ticket: KnockID, signatureIsValid: Bool) -> Signature {
        guard let entry = entries[ticket] else { return .unknown }
        guard signatureIsValid else { return .wrong(entry.isUnsigned ? remove(ticket) : []) }
        return entry.isUnsigned ? .first : .repeated
    }

    /// Replaces a request that was not signed yet.
    mutating func replace(_ ticket: KnockID, by request: Request) {
        guard entries[ticket]?.isUnsigned == true else { return }
        entries[ticket]?.request = request
    }

    /// The refusal that holds for the requester of a question.
    func refusal(of requester: Request.Requester, _ question: Request.Question, now: Instant) -> Refusal? {
        refusals[requester].flatMap {
            $0.until > now && ($0.hadSecret || !question.hasLinkSecret) ? $0 : nil
        }
    }

    /// Returns whether there is room for a question of this request.
    func hasRoom(for request: Request) -> Bool {
        switch questionRoom(for: request) {
        case .free, .insteadOf: true
        case .shareTaken, .none: false
        }
    }

    /// Asks about a request that was signed, and for which there is room. The older requests that it replaces end.
    mutating func ask(_ ticket: KnockID, _ question: Request.Question, now: Instant) -> [Action] {
        guard let request = entries[ticket]?.request, let number = entries[ticket]?.number else { return [] }
        let room = questionRoom(for: request)
        // First, as `finish` removes the oldest of those that are over, such as an abandoned one.
        entries[ticket]?.state = .asked(question)
        entries[ticket]?.deadline = now + limits.answer
        if limits.unsigned != nil { entries[ticket]?.unpolledSince = now }
        entries[ticket]?.asks += 1
        var actions: [Action] = []
        if case .insteadOf(let other) = room { actions = finish(other, .displaced, because: .displaced, now) }
        for (other, older) in entries where other != ticket && older.request.isReplaced(by: request) {
            let isLeftBehind = isPolled(older) && older.number < number
            guard older.question != nil || isLeftBehind else { continue }
            actions += finish(other, .replaced, because: .replaced, now)
        }
        return actions + [.ask(question)]
    }

    /// Begins a poll. If it returns `.waiting`, the poll ends with `endPoll` or with an `endPolls` action for its
    /// ticket.
    /// - Parameter question: a new random identifier for the question, used if the poll revives an abandoned request.
    mutating func beginPoll(_ ticket: KnockID, question: KnockID, now: Instant) -> (PollResult, [Action]) {
        guard let entry = entries[ticket] else { return (.unknown, []) }
        switch entry.state {
        case .finished(let outcome): return (.outcome(outcome), [])
        case .unsigned, .asked:
            entries[ticket]?.polls += 1
            return (.waiting, [])
        case .abandoned(var asked):
            guard !hasEnded, entry.asks < limits.asks, hasRoom(for: entry.request),
                refusal(of: entry.request.requester, asked, now: now) == nil
            else { return (.unknown, []) }
            entries[ticket]?.polls = 1
            asked.id = question
            return (.waiting, ask(ticket, asked, now: now))
        }
    }

    mutating func endPoll(_ ticket: KnockID, now: Instant) {
        guard let entry = entries[ticket], entry.polls > 0 else { return }
        entries[ticket]?.polls -= 1
        entries[ticket]?.unpolledSince = now
    }

    /// Withdraws a request because its sender has left.
    mutating func withdraw(_ ticket: KnockID, now: Instant) -> [Action] {
        guard let entry = entries[ticket] else { return [] }
        if case .finished = entry.state { return [] }
        if entry.isUnsigned, !isPolled(entry) { return remove(ticket) }
        return finish(ticket, .withdrawn, because: .left, now)
    }

    // MARK: The answer

    /// An open question with its ticket; nil if it is not open any more.
    func asked(_ question: KnockID) -> (ticket: KnockID, request: Request, question: Request.Question)? {
        for (ticket, entry) in entries {
            if let asked = entry.question, asked.id == question { return (ticket, entry.request, asked) }
        }
        return nil
    }

    /// Ends an open question. A refusal is remembered.
    mutating func answer(_ question: KnockID, _ outcome: Outcome, now: Instant) -> [Action] {
        guard let (ticket, request, question) = asked(question) else { return [] }
        if case .refused(let reason) = outcome {
            if refusals.count >= limits.refusals, let oldest = refusals.min(by: { $0.value.until < $1.value.until }) {
                refusals[oldest.key] = nil
            }
            refusals[request.requester] = Refusal(
                reason: reason, hadSecret: question.hasLinkSecret, until: now + limits.refusal)
        }
        return finish(ticket, outcome, now)
    }

    /// Ends all requests. Later ones are refused.
    mutating func end(now: Instant) -> [Action] {
        hasEnded = true
        return entries.filter { !$0.value.isOver }.keys.flatMap { finish($0, .ended, because: .ended, now) }
    }

    // MARK: Time

    /// When `advance` has to be called; nil if nothing is scheduled.
    var nextDeadline: Instant? {
        entries.values.map { entry in
            guard isPolled(entry), entry.polls == 0 else { return entry.deadline }
            return min(entry.deadline, entry.unpolledSince + limits.abandoned)
        }.min()
    }

    mutating func advance(now: Instant) -> [Action] {
        var actions: [Action] = []
        for (ticket, entry) in entries {
            switch entry.state {
            case .unsigned where now >= entry.deadline: actions += remove(ticket)
            case .asked where now >= entry.deadline:
                actions += finish(ticket, .unanswered, because: .unanswered, now)
            case .unsigned, .asked: if isAbandoned(entry, now) { actions += abandon(ticket, entry, now) }
            case .abandoned, .finished: if now >= entry.deadline { entries[ticket] = nil }
            }
        }
        refusals = refusals.filter { $0.value.until > now }
        return actions
    }

    /// Whether the requester polls in this state.
    private func isPolled(_ entry: Entry) -> Bool {
        entry.question != nil || entry.isUnsigned && limits.unsigned == nil
    }

    private func isAbandoned(_ entry: Entry, _ now: Instant) -> Bool {
        isPolled(entry) && entry.polls == 0 && now >= entry.unpolledSince + limits.abandoned
    }

    private mutating func abandon(_ ticket: KnockID, _ entry: Entry, _ now: Instant) -> [Action] {
        if limits.asks > 1, let question = entry.question {
            entries[ticket]?.state = .abandoned(question)
            entries[ticket]?.deadline = now + limits.kept
        } else {
            entries[ticket] = nil
        }
        return cancelQuestion(entry, .left) + [.count(.withdrawn)]
    }

    // MARK: Internals

    /// The room for a question of this request. An open question that the request replaces does not count, as it is
    /// replaced.
    private func questionRoom(for request: Request) -> Room {
        // Otherwise the unsigned request has its place already.
        guard limits.unsigned != nil, request.hasPlace else { return .free }
        let others = entries.filter {
            $0.value.question != nil && $0.value.request.hasPlace && !$0.value.request.isReplaced(by: request)
        }
        let strangers = others.filter(\.value.request.isStranger)
        if request.isStranger {
            guard strangers.count < Self.placesOfStrangers else { return .shareTaken }
        } else if others.count >= limits.questions.all,
            let newest = strangers.max(by: { $0.value.number < $1.value.number })
        {
            return .insteadOf(newest.key)
        }
        return room(for: request.address.key, among: others, limits.questions)
    }

    private func room(for address: AddressKey, among others: [KnockID: Entry], _ places: ApprovalLimits.Places) -> Room
    {
        let shares = AddressShares(others.values.map(\.request.address.key))
        guard shares.hasRoom(for: address, share: places.ofAddress, of: places.all) else { return .shareTaken }
        guard others.count >= places.all else { return .free }
        let losers = shares.displaceable(shares.addresses, by: address)
        let newest = others.filter { losers.contains($0.value.request.address.key) }
            .max { $0.value.number < $1.value.number }
        return newest.map { .insteadOf($0.key) } ?? .none
    }

    private func cancelQuestion(_ entry: Entry, _ reason: KnockWithdrawal) -> [Action] {
        entry.question.map { [.withdraw(question: $0.id, because: reason)] } ?? []
    }

    /// - Parameter outcome: counted and told to polls; nil: the request becomes unknown.
    mutating func remove(_ ticket: KnockID, _ outcome: Outcome? = nil) -> [Action] {
        entries[ticket] = nil
        guard let outcome else { return [.endPolls(ticket: ticket, .unknown)] }
        return [.count(outcome), .endPolls(ticket: ticket, .outcome(outcome))]
    }

    /// - Parameter reason: why an open question is not needed any more; nil: it was answered.
    mutating func finish(
        _ ticket: KnockID, _ outcome: Outcome, because reason: KnockWithdrawal? = nil, _ now: Instant
    ) -> [Action] {
        guard let entry = entries[ticket] else { return [] }
        entries[ticket]?.state = .finished(outcome)
        entries[ticket]?.deadline = now + limits.kept
        entries[ticket]?.polls = 0
        let over = entries.filter(\.value.isOver)
        if over.count > limits.outcomes, let oldest = over.min(by: { $0.value.deadline < $1.value.deadline }) {
            entries[oldest.key] = nil
        }
        return (reason.map { cancelQuestion(entry, $0) } ?? [])
            + [.count(outcome), .endPolls(ticket: ticket, .outcome(outcome))]
    }
}
