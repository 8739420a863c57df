package import Identifiers
package import Identity

extension KnockTable {
    package struct Limits: Sendable {
        /// Until a knock counts as unanswered.
        package var answer: Duration
        /// Until a knock that nobody polls is withdrawn. A poll within `kept` revives it.
        package var abandoned: Duration
        /// Until a knock whose challenge is not signed is removed.
        package var signature: Duration
        /// How long an outcome can be fetched.
        package var kept: Duration
        /// How long a refused identity is refused again without a question.
        package var refusal: Duration
        /// Questions that are open at a time. When the queue is full, a new question displaces the newest one of the
        /// address with the most questions, if its own address would still have fewer.
        package var questions: Int
        /// Open questions of one address (IPv6: /64).
        package var questionsOfAddress: Int
        /// Knocks that are not signed yet. Beyond `unsignedOfAddress`, the address's oldest is removed; beyond
        /// `unsigned`, new ones are refused.
        package var unsignedOfAddress: Int
        package var unsigned: Int
        /// Outcomes and refusals that are remembered. Beyond that, the oldest are removed.
        package var outcomes: Int
        package var refusals: Int
        /// How many times the host's user may be asked about one knock. A poll that revives an abandoned knock asks
        /// again.
        package var asks: Int

        package init(
            answer: Duration = Knock.answerTime, abandoned: Duration = .seconds(5), signature: Duration = .seconds(10),
            kept: Duration = .seconds(60), refusal: Duration = .seconds(60), questions: Int = 8,
            questionsOfAddress: Int = 2, unsignedOfAddress: Int = 32, unsigned: Int = 256, outcomes: Int = 512,
            refusals: Int = 1_024, asks: Int = 8
        ) {
            self.answer = answer
            self.abandoned = abandoned
            self.signature = signature
            self.kept = kept
            self.refusal = refusal
            self.questions = questions
            self.questionsOfAddress = questionsOfAddress
            self.unsignedOfAddress = unsignedOfAddress
            self.unsigned = unsigned
            self.outcomes = outcomes
            self.refusals = refusals
            self.asks = asks
        }
    }

    package enum Outcome: Sendable, Equatable {
        case accepted(token: String)
        case refused(String?)
        case busy(String)
        case unanswered
        case ended
        case withdrawn
        /// The same identity has knocked again for the same purpose.
        case replaced
        /// The queue was full, and a knock of an address with fewer questions displaced this one.
        case displaced
        /// The host accepted the knock, but there is no room for another token.
        case crowded
    }

    package enum Opening: Sendable, Equatable {
        /// The challenge waits for its signature.
        case opened
        case full
        case ended
    }

    package enum Signing: Sendable, Equatable {
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

    package enum PollResult: Sendable, Equatable {
        case waiting
        case outcome(Outcome)
        case unknown
    }

    /// An action for the caller. Actions are performed in order.
    package enum Action: Sendable {
        case ask(Knock)
        /// The question is not needed any more.
        case withdraw(question: KnockID, because: KnockWithdrawal)
        /// Ends all polls of this ticket with the given result.
        case endPolls(ticket: KnockID, PollResult)
        case count(Outcome)
    }

    /// A knock as it was received, with the challenge that it was given.
    package struct Request: Sendable {
        package var name: String
        package var kind: String
        package var address: PeerAddress
        /// The viewer says that it records.
        package var records: Bool
        /// Another server of the broadcast has admitted the viewer; nil: none has.
        package var pass: AdmissionPassKind?
        package var challenge: KnockChallenge
        /// Nil if the viewer has sent no nonce.
        package var origin: KnockOrigin?
        package var identity: ViewerIdentity { challenge.identity }

        /// Whether both are of the same identity, and for the same purpose: `share join` and `share record` of one
        /// person may ask at the same time.
        func isReplaced(by newer: Request) -> Bool { identity == newer.identity && records == newer.records }

        package init(
            name: String, kind: String, address: PeerAddress, records: Bool = false, pass: AdmissionPassKind? = nil,
            challenge: KnockChallenge, origin: KnockOrigin? = nil
        ) {
            self.name = name
            self.kind = kind
            self.address = address
            self.records = records
            self.pass = pass
            self.challenge = challenge
            self.origin = origin
        }
    }
}
