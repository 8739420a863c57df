extension KnockTable {
    struct Limits: Sendable {
        /// Until a knock counts as unanswered.
        var answer: Duration = Knock.answerTime
        /// Until a knock that nobody polls is withdrawn. A poll within `kept` revives it.
        var abandoned: Duration = .seconds(5)
        /// Until a knock whose challenge is not signed is removed.
        var signature: Duration = .seconds(10)
        /// How long an outcome can be fetched.
        var kept: Duration = .seconds(60)
        /// How long a refused identity is refused again without a question.
        var refusal: Duration = .seconds(60)
        /// Questions that are open at a time. When the queue is full, a new question displaces the newest one of the
        /// address with the most questions, if its own address would still have fewer.
        var questions = 8
        /// Open questions of one address (IPv6: /64).
        var questionsOfAddress = 2
        /// Knocks that are not signed yet. Beyond `unsignedOfAddress`, the address's oldest is removed; beyond
        /// `unsigned`, new ones are refused.
        var unsignedOfAddress = 32
        var unsigned = 256
        /// Outcomes and refusals that are remembered. Beyond that, the oldest are removed.
        var outcomes = 512
        var refusals = 1_024
        /// How often one knock may become a question: each poll after a pause asks again.
        var asks = 8
    }

    enum Outcome: Sendable, Equatable {
        case accepted(token: String)
        case refused(String?)
        case unanswered
        case ended
        case withdrawn
        /// The same identity has knocked again.
        case replaced
        /// The queue was full, and a knock of an address with fewer questions displaced this one.
        case displaced
        /// The host accepted the knock, but there is no room for another token.
        case crowded
    }

    enum Opening: Sendable, Equatable {
        /// The challenge waits for its signature.
        case opened
        case full
        case ended
    }

    enum Signing: Sendable, Equatable {
        case accepted
        case wrong
        /// The identity was refused before; it may ask again after `seconds`.
        case refusedBefore(String?, seconds: Int)
        case full
        /// There is no room for another token.
        case crowded
        case ended
        case unknown
    }

    enum PollResult: Sendable, Equatable {
        case waiting
        case outcome(Outcome)
        case unknown
    }

    /// What the caller has to do, in this order.
    enum Action: Sendable {
        case ask(Knock)
        /// The question is not needed any more.
        case withdraw(question: KnockID, because: KnockWithdrawal)
        /// Ends all polls of this ticket with the given look.
        case endPolls(ticket: KnockID, PollResult)
        case count(Outcome)
    }

    /// A knock as it was received, with the challenge that it was given.
    struct Request: Sendable {
        var name: String
        var kind: String
        var address: PeerAddress
        var challenge: KnockChallenge
        var identity: ViewerIdentity { challenge.identity }
    }
}
