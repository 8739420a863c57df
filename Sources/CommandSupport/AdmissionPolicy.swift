package import Admission
import ArgumentParser
import Glibc
import Host
package import Identifiers
package import Identity
import MediaCore
import Signaling

package enum AcceptChoice: String, ExpressibleByArgument, CaseIterable {
    case ask, known, any
}

/// Asks a question elsewhere than in the terminal; nil if nobody answers, or if the task is cancelled.
package typealias AskElsewhere = @Sendable (Prompt.Question) async -> Prompt.Answer?

extension AskElsewhere? {
    func answer(to question: Prompt.Question, else prompt: Prompt) async -> Prompt.Answer? {
        if let self { return await self(question) }
        return await prompt.answer(to: question)
    }
}

/// Decides on knocks by `--accept`: from the file of known viewers, by a question in the terminal, or always with yes.
package actor AdmissionPolicy {
    private let choice: AcceptChoice
    private let known: KnownViewers
    private let prompt: Prompt
    private let askElsewhere: AskElsewhere?
    private let canAsk: Bool
    /// Browsers get their page from a relay, which can change it: what it does is not what its user does.
    private let hasPageOfRelay: Bool
    /// The browsers that were accepted in this broadcast; the oldest is first.
    private var acceptedBrowsers: [ViewerIdentity] = []
    private static let acceptedLimit = 1_024

    /// - Parameters:
    ///   - hasPageOfRelay: browsers get their page from a relay. One that is known is asked about once.
    ///   - askElsewhere: asks where there is no terminal; nil if that is impossible.
    package init(
        _ choice: AcceptChoice, known: KnownViewers, prompt: Prompt, hasPageOfRelay: Bool = false,
        askElsewhere: AskElsewhere? = nil
    ) {
        self.hasPageOfRelay = hasPageOfRelay
        self.choice = choice
        self.known = known
        self.prompt = prompt
        let hasTerminal = isatty(STDIN_FILENO) == 1
        self.askElsewhere = hasTerminal ? nil : askElsewhere
        canAsk = hasTerminal || askElsewhere != nil
    }

    package func decide(_ knock: Knock) async -> KnockDecision {
        if knock.wasRemoved { return await askAgain(knock) }
        if choice == .any, !knock.isFromAnnouncement { return .acceptedByRule }
        // "Always" was said to somebody who watched.
        let isKnown = isKnown(knock)
        if isKnown, !isDoubtful(knock), !knock.records || choice == .known || !canAsk { return .remembered }
        guard canAsk else {
            return .refused(
                isKnown
                    ? "your page is from a relay, so the host would have to be asked: use share join"
                    : "the host lets in only people it knows")
        }
        return await ask(knock)
    }

    private func isOfRelaysPage(_ knock: Knock) -> Bool { hasPageOfRelay && knock.identity.kind == .browser }

    /// Whether a relay's page may have knocked by itself, with the key of a browser that has visited it before.
    private func isDoubtful(_ knock: Knock) -> Bool {
        isOfRelaysPage(knock) && !acceptedBrowsers.contains(knock.identity)
    }

    private func noteAccepted(_ knock: Knock) {
        guard isDoubtful(knock) else { return }
        if acceptedBrowsers.count >= Self.acceptedLimit { acceptedBrowsers.removeFirst() }
        acceptedBrowsers.append(knock.identity)
    }

    /// Decides on a viewer that was removed from this broadcast: by a question only.
    private func askAgain(_ knock: Knock) async -> KnockDecision {
        guard canAsk, choice != .any else { return .refused("the host removed you") }
        ErrorOutput.writeLine("share: \(UntrustedText.quote(knock.name)), whom you removed, knocks again")
        return await ask(knock)
    }

    /// Returns whether the identity was accepted with "always". The server has checked its signature.
    private func isKnown(_ knock: Knock) -> Bool {
        do throws(KnownViewersError) {
            return try known.entry(of: knock.identity) != nil
        } catch {
            ErrorOutput.writeLine("share: \(error)")
            return false
        }
    }

    private func ask(_ knock: Knock) async -> KnockDecision {
        let question = Prompt.Question(knock, isPageOfRelay: isOfRelaysPage(knock))
        switch await askElsewhere.answer(to: question, else: prompt) {
        case .yes:
            noteAccepted(knock)
            return .accepted
        case .always:
            noteAccepted(knock)
            // Who knocks at a relay is what the relay says.
            if !knock.isTold { known.remember(knock) }
            return .accepted
        case .no: return .refused("the host said no")
        case nil: return .unanswered
        }
    }
}

extension Prompt.Question {
    /// A question about a viewer.
    /// - Parameters:
    ///   - hasLink: false for one that has found the broadcast on the local network. The words alone tell then who it
    ///     is, and whether somebody stands between.
    ///   - always: the sentence that explains the answer "always".
    package init(
        id: KnockID, who: String, records: Bool = false, hasLink: Bool = true, words: String, always: String,
        deadline: ContinuousClock.Instant
    ) {
        let request = records ? "wants to watch and record" : "wants to watch"
        self.init(
            id: id, who: who,
            request: hasLink ? request : "has found you on the network, without the link, and \(request)",
            details: [
                hasLink
                    ? "The words on their side should be: \(words)"
                    : "Compare first: on their side it has to say: \(words)",
                always,
            ], invitation: "Let them in?", deadline: deadline)
    }

    private static let alwaysAtRelay =
        "Always: is yes for this time, as the relay alone says who this is."
    private static let alwaysOfRecorder =
        "Always: lets this person's share watch without a question; about recordings you are asked each time."

    private static let alwaysOfPage =
        "Always: asks you about this browser once in each broadcast, as its page is from the relay, which could change it."

    /// - Parameter isPageOfRelay: a browser has its page from a relay.
    package init(_ knock: Knock, isPageOfRelay: Bool = false) {
        self.init(
            id: knock.id, who: "\(UntrustedText.quote(knock.name)) (\(knock.kind), \(knock.address))",
            records: knock.records, hasLink: !knock.isFromAnnouncement, words: "\(knock.words)",
            always: knock.isTold
                ? Self.alwaysAtRelay
                : isPageOfRelay
                    ? Self.alwaysOfPage
                    : knock.records ? Self.alwaysOfRecorder : knock.identity.meaningOfAlways,
            deadline: .now + Knock.answerTime)
    }
}

extension KnownViewers {
    /// Stores a viewer that was accepted with "always". If the file cannot be written, a message says so, and the
    /// viewer is let in this once.
    package func remember(_ knock: Knock) {
        do throws(KnownViewersError) {
            try add(knock.identity, name: knock.name)
        } catch {
            ErrorOutput.writeLine("share: this viewer cannot be stored as known: \(error)")
        }
    }
}

extension ViewerIdentity {
    /// The sentence of the question that explains the answer "always" for this viewer.
    package var meaningOfAlways: String {
        switch kind {
        case .native: "Always: lets this person's share join in without a question, until 'share known forget'."
        case .browser:
            "Always: lets this browser in without a question, as long as your address and port stay the same (see --listen)."
        }
    }
}
