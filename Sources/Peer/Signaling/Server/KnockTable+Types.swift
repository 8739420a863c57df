extension KnockTable {
    struct Limits: Sendable {
        /// Until a knock counts as unanswered.
        var answer: Duration = Knock.answerTime
        /// Until a knock that nobody polls is withdrawn. For `kept` a poll brings it back.
        var abandoned: Duration = .seconds(5)
        /// Until a knock that is not signed is forgotten.
        var signature: Duration = .seconds(10)
        /// How long an outcome can be asked for.
        var kept: Duration = .seconds(60)
        /// How long a refused identity is refused without a question.
        var refusal: Duration = .seconds(60)
        /// Questions that wait at a time. When all places are taken, the address that holds most loses its newest to one that
        /// would still hold fewer.
        var questions = 8
        /// Of them, of one address (IPv6: /64).
        var questionsOfAddress = 2
        /// Knocks that are not signed yet: of one address (its oldest makes room), and of all (more are refused).
        var unsignedOfAddress = 32
        var unsigned = 256
        /// Outcomes and refusals that are remembered; the oldest make room.
        var outcomes = 512
        var refusals = 1_024
        /// How often a knock may be asked about: polls bring it back after a pause.
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
        /// Its place was needed for an address that held fewer.
        case displaced
        /// Let in, but there is no room for another token.
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
        /// The identity was refused; it may ask again after that many seconds.
        case refusedBefore(String?, seconds: Int)
        case full
        /// There is no room for another token.
        case crowded
        case ended
        case unknown
    }

    enum Look: Sendable, Equatable {
        case waiting
        case outcome(Outcome)
        case unknown
    }

    /// What the owner of the table has to do, in this order.
    enum Action: Sendable {
        case ask(Knock)
        /// The question is not needed any more.
        case withdraw(question: KnockID, because: KnockWithdrawal)
        /// To all polls of this ticket.
        case tell(ticket: KnockID, Look)
        case count(Outcome)
    }

    /// A knock as it came, with the challenge that it got.
    struct Request: Sendable {
        var name: String
        var kind: String
        var address: PeerAddress
        var challenge: KnockChallenge
        var identity: ViewerIdentity { challenge.identity }
    }
}
