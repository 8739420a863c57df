import ArgumentParser
import Foundation
import PeerRuntime
import Signaling

enum AcceptChoice: String, ExpressibleByArgument, CaseIterable {
    case ask, known, any
}

/// Answers knocks: from memory, by the terminal, or with yes.
actor AdmissionPolicy {
    private let choice: AcceptChoice
    private let known: KnownViewers
    private let prompt: Prompt
    private let canAsk: Bool

    init(_ choice: AcceptChoice, known: KnownViewers, prompt: Prompt) {
        self.choice = choice
        self.known = known
        self.prompt = prompt
        canAsk = isatty(STDIN_FILENO) == 1
    }

    func decide(_ knock: Knock) async -> KnockDecision {
        if choice == .any { return .accepted }
        if isKnown(knock) { return .remembered }
        guard canAsk else { return .refused("the host lets in only people it knows") }
        return await ask(knock)
    }

    /// The identity was answered with "always"; the server has checked its signature.
    private func isKnown(_ knock: Knock) -> Bool {
        do throws(KnownViewersError) {
            return try known.entry(of: knock.identity) != nil
        } catch {
            Words.say("share: \(error)")
            return false
        }
    }

    private func ask(_ knock: Knock) async -> KnockDecision {
        switch await prompt.answer(to: Prompt.Question(knock)) {
        case .yes: return .accepted
        case .always:
            known.remember(knock)
            return .accepted
        case .no: return .refused("the host said no")
        case nil: return .unanswered
        }
    }
}

extension Prompt.Question {
    init(_ knock: Knock) {
        self.init(
            id: knock.id, who: "\(PeerText.quote(knock.name)) (\(knock.kind), \(knock.address))",
            words: "\(knock.words)",
            always: knock.identity.meaningOfAlways, deadline: .now + Knock.answerTime)
    }
}

extension KnownViewers {
    /// "Always" was answered. A file that cannot be written is said; the viewer is let in this time all the same.
    func remember(_ knock: Knock) {
        do throws(KnownViewersError) {
            try add(knock.identity, name: knock.name)
        } catch {
            Words.say("share: cannot remember them: \(error)")
        }
    }
}

extension ViewerIdentity {
    /// What the answer "always" does for this viewer, for the question.
    var meaningOfAlways: String {
        switch kind {
        case .native: "Always: lets this person's share join in without a question, until 'share known forget'."
        case .browser:
            "Always: lets this browser in without a question, as long as your address and port stay the same (see --listen)."
        }
    }
}
