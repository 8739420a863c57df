import ArgumentParser
import Foundation
import PeerRuntime
import Signaling

enum AcceptChoice: String, ExpressibleByArgument, CaseIterable {
    case ask, known, any
}

/// Answers knocks: by the terminal, from memory, or with yes.
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
        switch choice {
        case .any: return .accepted
        case .known where known.contains(knock.fingerprint): return .accepted
        case .known where !canAsk: return .refused("the host lets in only people it knows")
        case .known, .ask: return await ask(knock)
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
                Words.ask("  Let them in? [y]es, [n]o, [a]lways: ")
            }
            Words.answered(byTyping: line != nil)
            switch line {
            case .some(let line) where ["y", "yes"].contains(line.lowercased()): return .accepted
            case .some(let line) where ["a", "always"].contains(line.lowercased()):
                do {
                    try known.add(knock.fingerprint, name: knock.name)
                } catch {
                    Words.say("share: cannot remember them: \(error)")
                }
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

/// The people who were accepted for good: a fingerprint and a name a line, mode 0600.
struct KnownViewers: Sendable {
    let file: URL

    func contains(_ fingerprint: [UInt8]) -> Bool {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return false }
        let wanted = hex(fingerprint)
        return text.split(separator: "\n").contains { $0.split(separator: " ").first.map(String.init) == wanted }
    }

    func add(_ fingerprint: [UInt8], name: String) throws {
        guard !contains(fingerprint) else { return }
        let old = (try? Data(contentsOf: file)) ?? Data()
        try (old + Data("\(hex(fingerprint)) \(name)\n".utf8)).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
}
