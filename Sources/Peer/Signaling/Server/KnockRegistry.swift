import Admission
import Identifiers
import Identity

/// Asks a broadcast's delegate about knocks, and gives tokens to accepted viewers.
struct KnockApprovalHandler: ApprovalHandler {
    struct State: ApprovalState {
        var table: KnockTable
    }

    let delegate: any SignalingServerDelegate
    /// The link's.
    let secret: [UInt8]
    let admissions: AdmissionRegistry
    let counters: SignalingCounters

    func decide(_ knock: Knock) async -> KnockDecision { await delegate.decide(knock) }

    func withdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async {
        await delegate.knockWithdrawn(knock, because: reason)
    }

    func count(_ outcome: KnockTable.Outcome) { counters.count { $0.knocks.count(outcome) } }

    func take(_ decision: KnockDecision, on question: KnockID, _ state: inout State) -> [KnockTable.Action] {
        guard let request = state.table.request(asked: question) else { return [] }
        let outcome: KnockTable.Outcome
        switch decision {
        case .accepted, .acceptedByRule, .remembered:
            var viewer = Viewer(
                knock: question, name: request.name, kind: request.kind, address: request.address.text,
                fingerprint: request.identity.fingerprint, identity: request.identity, words: request.challenge.words)
            (viewer.records, viewer.isFromAnnouncement) = (request.records, request.isFromAnnouncement)
            viewer.isAdmittedByRule = decision == .acceptedByRule
            (viewer.origin, viewer.keyWrap) = (request.origin, request.keyWrap(secret: secret))
            outcome = admissions.admit(viewer, from: request.address.key).map { .granted($0) } ?? .crowded
        case .refused(let reason): outcome = .refused(reason)
        case .busy(let reason): outcome = .busy(reason)
        case .unanswered: outcome = .unanswered
        }
        return state.table.answer(question, outcome, now: .now)
    }
}

/// Runs the knocks at a broadcast.
typealias KnockRegistry = ApprovalRegistry<KnockApprovalHandler>

extension KnockRegistry {
    /// - Parameter ticket: a new random one.
    func open(_ request: KnockTable.Request, ticket: KnockID) -> KnockTable.Opening {
        change { state in state.table.open(request, ticket: ticket, now: .now) }
    }

    func sign(_ ticket: KnockID, _ proof: KnockSignature) -> KnockTable.Signing {
        guard let challenge = withState({ $0.table.request(of: ticket)?.challenge }) else { return .unknown }
        // Takes long for a lock, and the challenge of a ticket does not change.
        let isValid = proof.isValid(for: challenge)
        return change { state in
            state.table.sign(
                ticket, signatureIsValid: isValid, revealing: proof.reveal, question: .random(), now: .now
            ) {
                handler.admissions.hasRoom(for: $0.identity, from: $0.address.key)
            }
        }
    }

    func end() { change { state in ((), state.table.end(now: .now)) } }
}

extension KnockTable.Request {
    /// For what only this viewer may read; nil if its knock is of version 1.
    fileprivate func keyWrap(secret: [UInt8]) -> KeyWrap? {
        guard let hostKey, let reveal = challenge.reveal, let transcript = challenge.transcript else { return nil }
        return KeyWrap(
            hostKey, with: reveal.key, secret: isFromAnnouncement ? Link.announcedSecret : secret, transcript)
    }
}
