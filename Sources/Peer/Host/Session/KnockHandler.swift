import Admission
import Identifiers
import Identity
import LinuxRuntime
import Signaling
import Synchronization

/// Asks the host's user about knocks and reports the decisions. Safe from any thread.
package final class KnockHandler: Sendable {
    private let decideKnock: HostSession.KnockPolicy
    private let emit: @Sendable (BroadcastEvent) -> Void
    /// The viewers that wait for an answer.
    private let pending = Mutex<[KnockID: ViewerDescription]>([:])

    /// The viewers that the host's user has removed and not accepted since; the oldest is first.
    private let removed = Mutex<[ViewerIdentity]>([])
    private static let removedLimit = 1_024
    /// The viewers that this host has sent elsewhere, which knock there again, or has accepted without a place for
    /// them, and whether they record; the oldest is first.
    private let redirected = Mutex<[(identity: ViewerIdentity, records: Bool, isAdmittedByRule: Bool)]>([])
    private static let redirectedLimit = 8_192

    /// How long a refusal applies.
    static let refusalSeconds = 60

    package init(decideKnock: @escaping HostSession.KnockPolicy, emit: @escaping @Sendable (BroadcastEvent) -> Void) {
        self.decideKnock = decideKnock
        self.emit = emit
    }

    /// Marks the viewer's later knocks, until one is accepted.
    func noteRemoval(of identity: ViewerIdentity) {
        redirected.withLock { redirected in redirected.removeAll { $0.identity == identity } }
        removed.withLock { removed in
            removed.removeAll { $0 == identity }
            if removed.count >= Self.removedLimit { removed.removeFirst() }
            removed.append(identity)
        }
    }

    /// Whether the host's user has removed a viewer and not accepted it since.
    func hasRemoved(_ identity: ViewerIdentity) -> Bool { removed.withLock { $0.contains(identity) } }

    /// Accepts the viewer's later knocks without a question, until it is removed.
    func noteRedirect(of identity: ViewerIdentity, records: Bool, isAdmittedByRule: Bool = false) {
        redirected.withLock { redirected in
            redirected.removeAll { $0.identity == identity }
            if redirected.count >= Self.redirectedLimit { redirected.removeFirst() }
            redirected.append((identity, records, isAdmittedByRule))
        }
    }

    /// The former decision about a viewer that was sent elsewhere and not removed since, and does nothing now that it
    /// did not then; nil: there is none.
    private func formerDecision(on knock: Knock) -> KnockDecision? {
        // It may have been sent there by what had begun before it was removed.
        guard !hasRemoved(knock.identity) else { return nil }
        let known = redirected.withLock { redirected in
            redirected.first { $0.identity == knock.identity && ($0.records || !knock.records) }
        }
        return known.map { $0.isAdmittedByRule ? .acceptedByRule : .accepted }
    }

    func decide(_ knock: Knock) async -> KnockDecision {
        if let decision = formerDecision(on: knock) { return decision }
        var knock = knock
        knock.wasRemoved = hasRemoved(knock.identity)
        let who = ViewerDescription(knock)
        pending.withLock { $0[knock.id] = who }
        emit(.knock(who))
        let decision = await decideKnock(knock)
        if decision.isAdmission {
            removed.withLock { removed in removed.removeAll { $0 == knock.identity } }
        }
        switch decision {
        case .accepted, .acceptedByRule: emit(.accepted(who, isRemembered: false))
        case .remembered: emit(.accepted(who, isRemembered: true))
        case .refused(let reason):
            emit(.refused(who, reason: "\(reason ?? "refused"); they can ask again in \(Self.refusalSeconds) s"))
        case .busy(let reason): emit(.refused(who, reason: reason))
        case .unanswered where Task.isCancelled: break
        case .unanswered: emit(.refused(who, reason: "nobody answered"))
        }
        pending.withLock { $0[knock.id] = decision == .unanswered ? who : nil }
        return decision
    }

    /// Decides on a viewer of a relay to which the broadcast is published.
    /// - Parameter isSealed: it is encrypted, so that only viewers whom this host has sent there have its keys.
    func decide(atRelay knock: Knock, isSealed: Bool) async -> KnockDecision {
        guard isSealed else { return await decide(knock) }
        return formerDecision(on: knock)
            ?? .refused("this broadcast is encrypted from end to end: ask for the host's own link")
    }

    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) {
        guard let who = pending.withLock({ $0.removeValue(forKey: knock) }) else { return }
        switch reason {
        case .unanswered: emit(.refused(who, reason: "nobody answered"))
        case .left: emit(.refused(who, reason: "they left before they were answered"))
        case .replaced: emit(.refused(who, reason: "they asked again"))
        case .displaced: emit(.refused(who, reason: "too many ask, most of them from the same address"))
        case .ended: emit(.refused(who, reason: "the broadcast ended"))
        }
    }
}

extension ViewerDescription {
    init(_ knock: Knock) {
        self.init(
            name: knock.name, kind: knock.kind, address: knock.address, words: knock.words.description,
            records: knock.records)
        isFromAnnouncement = knock.isFromAnnouncement
    }
}
