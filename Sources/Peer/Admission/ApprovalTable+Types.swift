package import Identifiers

extension ApprovalTable {
    package enum Outcome: Hashable, Sendable {
        case granted(Request.Grant)
        case refused(String?)
        /// Nobody is taken at present; the value is the reason, if it is told.
        case busy(String?)
        case unanswered
        /// The broadcast or the service has ended.
        case ended
        /// The requester has left.
        case withdrawn
        /// The same requester has sent a newer request for the same purpose.
        case replaced
        /// The queue was full, and a request of an address with fewer displaced this one.
        case displaced
        /// The request was accepted, but there is no room for another token.
        case crowded
        /// The grant's time is over: no session was published, or it has ended.
        case expired
    }

    package enum PollResult: Hashable, Sendable {
        case waiting
        case outcome(Outcome)
        case unknown
    }

    package enum Opening: Hashable, Sendable {
        /// The request waits for its signature.
        case opened
        /// There are too many, in all or of this address.
        case full
        case ended
    }

    /// The effect of a signature.
    enum Signature {
        /// The request waits for ``ApprovalTable/ask(_:_:now:)``.
        case first
        case repeated
        /// The request has ended, unless it was signed before.
        case wrong([Action])
        case unknown
    }

    /// An action for the caller. Actions are performed in order.
    package enum Action: Equatable, Sendable {
        case ask(Request.Question)
        /// The question is not needed any more.
        case withdraw(question: KnockID, because: KnockWithdrawal)
        /// Ends all polls of this ticket with the given result.
        case endPolls(ticket: KnockID, PollResult)
        case count(Outcome)
        case effect(Request.Effect)
    }
}

/// The limits of an ``ApprovalTable``.
package struct ApprovalLimits: Hashable, Sendable {
    /// Places in all, and of one address (IPv6: /64).
    package struct Places: Hashable, Sendable {
        package var all: Int
        package var ofAddress: Int
    }

    /// Until a request that is not signed is removed.
    package var signature: Duration
    /// Until a question counts as unanswered.
    package var answer: Duration
    /// Until a request that nobody polls is withdrawn.
    package var abandoned: Duration
    /// The time for which an outcome can be fetched.
    package var kept: Duration
    /// The time for which a refused requester is refused again without a question.
    package var refusal: Duration
    /// Questions that are open at a time. When they are full, a new one displaces the newest one of the address with
    /// the most, if its own address would still have fewer.
    package var questions: Places
    /// Requests that are not signed yet and that nobody polls. Beyond `ofAddress` the address's oldest is removed. Nil:
    /// they are polled from the beginning, and have their places among the questions.
    package var unsigned: Places?
    /// Outcomes and refusals that are remembered. Beyond that, the oldest are removed.
    package var outcomes: Int
    package var refusals: Int
    /// The maximum number of questions to a person about one request: a poll within `kept` revives an abandoned one.
    package var asks: Int
}
