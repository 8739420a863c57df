import HTTP
package import Identifiers
package import Identity

/// The state machine of knocks, from the challenge to the answer, as a value without a clock or randomness.
///
/// The host is asked only after the identity has signed the challenge. An identity has one open question for watching
/// and one for recording. Unsigned knocks have places of their own, and an abandoned knock is revived by a poll.
package struct KnockTable: ApprovalMachine {
    package typealias Limits = ApprovalLimits
    package typealias Opening = ApprovalTable<Request>.Opening

    /// A knock as it was received, with the challenge that it was given.
    package struct Request: ApprovalRequest {
        package typealias Question = Knock
        /// The token.
        package typealias Grant = String

        package var name: String
        package var kind: String
        package var address: PeerAddress
        /// The viewer says that it records.
        package var records: Bool
        /// The viewer has found the broadcast on the local network, and does not have the link.
        package var isFromAnnouncement = false
        /// Another server of the broadcast has admitted the viewer; nil: none has.
        package var pass: AdmissionPassKind?
        package var challenge: KnockChallenge
        /// Nil if the viewer has sent no nonce.
        package var origin: KnockOrigin?
        /// The host's side of a knock of version 2.
        package var hostKey: EphemeralKey?
        package var identity: ViewerIdentity { challenge.identity }
        package var requester: ViewerIdentity { identity }
        /// A knock with a pass needs nobody's answer, and only viewers who were admitted have one.
        package var hasPlace: Bool { pass == nil }
        package var isStranger: Bool { isFromAnnouncement }

        /// Whether both are of the same identity, and for the same purpose: `share join` and `share record` of one
        /// person may ask at the same time.
        package func isReplaced(by newer: Request) -> Bool { identity == newer.identity && records == newer.records }

        package init(
            name: String, kind: String, address: PeerAddress, records: Bool = false, pass: AdmissionPassKind? = nil,
            challenge: KnockChallenge, origin: KnockOrigin? = nil
        ) {
            (self.name, self.kind, self.address, self.records) = (name, kind, address, records)
            (self.pass, self.challenge, self.origin) = (pass, challenge, origin)
        }

        fileprivate func question(_ id: KnockID) -> Knock {
            var knock = Knock(
                id: id, name: name, kind: kind, address: address.text, identity: identity, records: records, pass: pass,
                words: challenge.words)
            knock.isFromAnnouncement = isFromAnnouncement
            return knock
        }
    }

    package enum Signing: Sendable, Equatable {
        case accepted
        case wrong
        /// The identity was refused before; it may ask again after `seconds`.
        case refusedBefore(String?, seconds: Int)
        case full
        /// There is no room for another token.
        case crowded
        case unknown
    }

    package var approvals: ApprovalTable<Request>

    package init(limits: Limits) { approvals = ApprovalTable(limits: limits) }

    /// Adds a knock whose proof was right.
    package mutating func open(_ request: Request, ticket: KnockID, now: Instant) -> (Opening, [Action]) {
        approvals.open(request, ticket: ticket, now: now)
    }

    /// Handles the signature of the challenge. A wrong one ends the knock, unless the challenge was signed correctly
    /// before.
    /// - Parameters:
    ///   - reveal: what came with the signature.
    ///   - isValid: whether the identity has signed the request's challenge.
    ///   - question: a new random identifier for the question.
    ///   - hasRoom: whether this request could get a token.
    package mutating func sign(
        _ ticket: KnockID, signatureIsValid isValid: Bool, revealing reveal: KnockReveal? = nil, question: KnockID,
        now: Instant, hasRoom: (Request) -> Bool = { _ in true }
    ) -> (Signing, [Action]) {
        guard var request = request(of: ticket) else { return (.unknown, []) }
        switch approvals.sign(ticket, signatureIsValid: isValid) {
        case .first:
            request.challenge.reveal = reveal
            approvals.replace(ticket, by: request)
        case .repeated: return (.accepted, [])
        case .wrong(let actions): return (.wrong, actions)
        case .unknown: return (.unknown, [])
        }
        let knock = request.question(question)
        if let refusal = approvals.refusal(of: request.requester, knock, now: now) {
            let seconds = Int(((refusal.until - now) / .seconds(1)).rounded(.up))
            return (
                .refusedBefore(refusal.reason, seconds: max(1, seconds)),
                approvals.remove(ticket, .refused(refusal.reason))
            )
        }
        guard approvals.hasRoom(for: request) else { return (.full, []) }
        guard hasRoom(request) else { return (.crowded, []) }
        return (.accepted, approvals.ask(ticket, knock, now: now))
    }

    /// Returns the request of an open question; nil if the question is not open any more.
    package func request(asked question: KnockID) -> Request? { approvals.asked(question)?.request }

    package mutating func answer(_ question: KnockID, _ outcome: Outcome, now: Instant) -> [Action] {
        approvals.answer(question, outcome, now: now)
    }

    /// Ends all knocks. Later ones are refused.
    package mutating func end(now: Instant) -> [Action] { approvals.end(now: now) }
}

extension Knock: ApprovalQuestion {
    package var hasLinkSecret: Bool { !isFromAnnouncement }
}

extension KnockTable.Limits {
    /// The limits of knocks.
    package static func knocks(
        answer: Duration = Knock.answerTime, abandoned: Duration = .seconds(5), signature: Duration = .seconds(10),
        refusal: Duration = .seconds(60), questions: Int = 8, questionsOfAddress: Int = 2, unsigned: Int = 256,
        unsignedOfAddress: Int = 32, refusals: Int = 1_024, asks: Int = 8
    ) -> Self {
        Self(
            signature: signature, answer: answer, abandoned: abandoned, kept: .seconds(60), refusal: refusal,
            questions: Places(all: questions, ofAddress: questionsOfAddress),
            unsigned: Places(all: unsigned, ofAddress: unsignedOfAddress), outcomes: 512, refusals: refusals, asks: asks
        )
    }
}
