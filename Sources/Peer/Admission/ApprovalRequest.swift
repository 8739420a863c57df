package import Identifiers
package import Identity

/// A request that a person or a policy has to approve: a viewer's knock at a host, or a host's pairing with a service.
package protocol ApprovalRequest: Sendable {
    associatedtype Question: ApprovalQuestion
    /// The requester gets this with the approval.
    associatedtype Grant: Hashable & Sendable
    /// A refusal holds for the requester, whatever it requests.
    associatedtype Requester: Hashable & Sendable
    /// An action of the request's own table.
    associatedtype Effect: Hashable & Sendable = Never

    var address: PeerAddress { get }
    var requester: Requester { get }
    /// The request counts among the questions. One that needs nobody's answer does not.
    var hasPlace: Bool { get }
    /// Questions of strangers have few places, which others take from them.
    var isStranger: Bool { get }
    /// Whether `newer` takes the place of this request.
    func isReplaced(by newer: Self) -> Bool
}

extension ApprovalRequest {
    package var hasPlace: Bool { true }
    package var isStranger: Bool { false }
}

/// A signed request, as the person or the policy gets it.
package protocol ApprovalQuestion: Equatable, Sendable {
    /// It differs from the requester's ticket, which stays within the server.
    var id: KnockID { get set }
    /// A refusal of a request without the link's secret does not hold for one that has it.
    var hasLinkSecret: Bool { get }
}

/// A state machine with a table of approvals: ``KnockTable`` or ``PairingTable``.
package protocol ApprovalMachine: Sendable {
    associatedtype Request: ApprovalRequest

    var approvals: ApprovalTable<Request> { get set }
    /// When `advance` has to be called; nil if nothing is scheduled.
    var nextDeadline: ContinuousClock.Instant? { get }
    mutating func advance(now: ContinuousClock.Instant) -> [ApprovalTable<Request>.Action]
    /// Ends a request because its sender has left.
    mutating func withdraw(_ ticket: KnockID, now: ContinuousClock.Instant) -> [ApprovalTable<Request>.Action]
}

extension ApprovalMachine {
    package typealias Instant = ContinuousClock.Instant
    package typealias Action = ApprovalTable<Request>.Action
    package typealias Outcome = ApprovalTable<Request>.Outcome
    package typealias PollResult = ApprovalTable<Request>.PollResult

    package var nextDeadline: Instant? { approvals.nextDeadline }
    package mutating func advance(now: Instant) -> [Action] { approvals.advance(now: now) }
    package mutating func withdraw(_ ticket: KnockID, now: Instant) -> [Action] {
        approvals.withdraw(ticket, now: now)
    }

    /// Questions that wait for an answer.
    package var questionCount: Int { approvals.questionCount }
    /// The request of a ticket that the table knows.
    package func request(of ticket: KnockID) -> Request? { approvals.entries[ticket]?.request }
    package func isKnown(_ ticket: KnockID) -> Bool { approvals.entries[ticket] != nil }

    /// Begins a poll. If it returns `.waiting`, the poll ends with `endPoll` or with an `endPolls` action for its
    /// ticket.
    /// - Parameter question: a new random identifier for the question, used if the poll revives an abandoned request.
    package mutating func beginPoll(
        _ ticket: KnockID, question: KnockID, now: Instant
    ) -> (PollResult, [Action]) { approvals.beginPoll(ticket, question: question, now: now) }

    package mutating func endPoll(_ ticket: KnockID, now: Instant) { approvals.endPoll(ticket, now: now) }
}
