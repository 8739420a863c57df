import ArgumentParser
import Foundation
import PeerRuntime
import Signaling

enum AcceptChoice: String, ExpressibleByArgument, CaseIterable {
    case ask, known, any
}

/// Answers knocks: from memory, by the terminal, or with yes.
actor Doorkeeper {
    private let choice: AcceptChoice
    private let known: KnownViewers
    private let canAsk: Bool
    private var asking: Task<Void, Never>?

    init(_ choice: AcceptChoice, known: KnownViewers) {
        self.choice = choice
        self.known = known
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

    /// One question at a time.
    private func ask(_ knock: Knock) async -> KnockDecision {
        let previous = asking
        let answer = Task<KnockDecision, Never> { [known] in
            await previous?.value
            if Task.isCancelled {
                await TerminalInput.shared.forget(knock.id)
                return .unanswered
            }
            let line = await TerminalInput.shared.line(for: knock.id) {
                Words.say(
                    "\(knock.name.isEmpty ? "Somebody" : knock.name) (\(knock.kind), \(knock.address)) wants to watch.")
                Words.say("  The words on their side should be: \(knock.words)")
                Words.say("  " + knock.identity.meaningOfAlways)
                Words.ask("  Let them in? [y]es, [n]o, [a]lways: ")
            }
            Words.answered(byTyping: line != nil)
            switch line {
            case .some(let line) where ["y", "yes"].contains(line.lowercased()): return .accepted
            case .some(let line) where ["a", "always"].contains(line.lowercased()):
                known.remember(knock)
                return .accepted
            case .some: return .refused("the host said no")
            case nil: return .unanswered
            }
        }
        asking = Task { _ = await answer.value }
        return await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            answer.cancel()
            Task { await TerminalInput.shared.giveUp(knock.id) }
        }
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

/// Lines typed in the terminal, one for each question. A line typed before a question was asked does not answer it.
actor TerminalInput {
    static let shared = TerminalInput()

    private var waiting: (knock: KnockID, continuation: CheckedContinuation<String?, Never>)?
    private var withdrawn: Set<KnockID> = []
    private var isReading = false
    private var hasEnded = false

    /// Asks, and gives the next line; nil if stdin ends or the question is withdrawn.
    func line(for knock: KnockID, asking: @Sendable () -> Void) async -> String? {
        asking()
        if hasEnded || withdrawn.remove(knock) != nil { return nil }
        if !isReading {
            isReading = true
            let thread = Thread {
                while let line = readLine(strippingNewline: true) {
                    Task { await self.arrived(line) }
                }
                Task { await self.ended() }
            }
            thread.name = "terminal"
            thread.start()
        }
        return await withCheckedContinuation { continuation in
            waiting = (knock, continuation)
        }
    }

    /// The question is not needed any more, whether it has been asked or not.
    func giveUp(_ knock: KnockID) {
        guard waiting?.knock == knock else {
            withdrawn.insert(knock)
            return
        }
        answer(nil)
    }

    /// The knock will not be asked about.
    func forget(_ knock: KnockID) { withdrawn.remove(knock) }

    private func ended() {
        hasEnded = true
        answer(nil)
    }

    private func answer(_ line: String?) {
        waiting?.continuation.resume(returning: line)
        waiting = nil
    }

    private func arrived(_ line: String) {
        answer(line.trimmingCharacters(in: .whitespaces))
    }
}
