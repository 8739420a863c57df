package import Admission
import Host
import Identifiers
package import Identity
import MediaCore
import Signaling

/// Decides on pairings by `--accept`: from the file of known hosts, by a question in the terminal, or with yes for
/// everybody who has the link with its secret.
package actor PairingPolicy {
    private let choice: AcceptChoice
    private let known: KnownViewers
    private let prompt: Prompt
    private let askElsewhere: AskElsewhere?

    /// - Parameter askElsewhere: asks where there is no terminal; nil: there is one, or nobody is asked.
    package init(
        _ choice: AcceptChoice, known: KnownViewers, prompt: Prompt, askElsewhere: AskElsewhere? = nil
    ) {
        self.askElsewhere = askElsewhere
        self.choice = choice
        self.known = known
        self.prompt = prompt
    }

    package func decide(_ request: PairingRequest) async -> PairingDecision {
        if choice == .any, request.hasLinkSecret { return .acceptedByRule }
        guard let identity = ViewerIdentity(fingerprint: request.fingerprint) else { return .refused(nil) }
        if (try? known.entry(of: identity)) ?? nil != nil { return .accepted }
        switch choice {
        case .ask: return await ask(request, identity)
        case .known: return .refused("the service takes broadcasts of known hosts only")
        case .any:
            return .refused(
                "this link has no secret, and takes known hosts only: ask the service's owner for its new link")
        }
    }

    private func ask(_ request: PairingRequest, _ identity: ViewerIdentity) async -> PairingDecision {
        let question = Prompt.Question(request)
        switch await askElsewhere.answer(to: question, else: prompt) {
        case .yes: return .accepted
        case .always:
            do throws(KnownViewersError) {
                try known.add(identity, name: request.application.name)
            } catch {
                ErrorOutput.writeLine("share: this host cannot be stored as known: \(error)")
            }
            return .accepted
        case .no: return .refused("the service said no")
        case nil: return .unanswered
        }
    }
}

extension Prompt.Question {
    package init(_ request: PairingRequest) {
        let setup = request.setup.sorted { $0.key < $1.key }.map { "\($0.key): \(UntrustedText.quote($0.value))" }
        self.init(
            id: request.id,
            who: "\(UntrustedText.quote(request.application.name)) (\(request.application.id), \(request.address))",
            request: "wants to broadcast",
            details: setup + ["Always: takes broadcasts of this host without a question from now on."],
            invitation: "Take it?", deadline: .now + PairingRequest.answerTime)
    }
}
