import Foundation
import PeerRuntime
import Signaling

/// Questions in the terminal: one at a time, in the order of the knocks.
///
/// A key answers a question only if it was pressed at least a second after that question had been shown. What was typed before is
/// discarded: it was meant for something else.
final class Prompt: Sendable {
    enum Answer: Sendable { case yes, no, always }

    struct Question: Sendable {
        let id: KnockID
        /// Who wants to watch, quoted already, with what and from where.
        let who: String
        let words: String
        /// A sentence on what `always` does for this person.
        let always: String
        let deadline: ContinuousClock.Instant
    }

    private struct Entry {
        let question: Question
        let continuation: CheckedContinuation<Answer?, Never>
    }

    private struct State {
        var entries: [Entry] = []
        /// The question on the screen, and since when.
        var shown: (id: KnockID, since: ContinuousClock.Instant)?
        var isAskedAgain = false
        var isTicking = false
        var lastBell: ContinuousClock.Instant?
    }

    /// How long keys are ignored after a question appeared.
    static let quietTime = Duration.seconds(1)

    private let state = Monitor(State())
    /// Told of each new question, and with nil when there is none any more. Must not block.
    private let notify: @Sendable (Question?) -> Void

    init(notify: @escaping @Sendable (Question?) -> Void = { _ in }) {
        self.notify = notify
    }

    /// Takes the terminal. Call once, after `Signals.handle`.
    func start() {
        state.with { _ in _ = TerminalMode.enter() }
        TerminalInput.start { [self] key, instant in pressed(key, at: instant) }
        Signals.onSuspension {
            Words.hide()
            TerminalMode.restore()
        } resumed: { [self] in
            resumed()
        }
    }

    /// Asks when the questions before this one are over.
    /// - Returns: nil if the task is cancelled first.
    func answer(to question: Question) async -> Answer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.with { state in
                    state.entries.append(Entry(question: question, continuation: continuation))
                    show(&state)
                }
                // Cancelled before the entry was there.
                if Task.isCancelled { withdraw(question.id) }
            }
        } onCancel: {
            withdraw(question.id)
        }
    }

    /// Whether the question is on the screen, or will be.
    func isWaiting(_ id: KnockID) -> Bool { state.with { $0.entries.contains { $0.question.id == id } } }

    private func withdraw(_ id: KnockID) {
        let entry: Entry? = state.with { state in
            guard let index = state.entries.firstIndex(where: { $0.question.id == id }) else { return nil }
            let entry = state.entries.remove(at: index)
            if state.shown?.id == id {
                state.shown = nil
                Words.answered(nil)
            }
            show(&state)
            return entry
        }
        entry?.continuation.resume(returning: nil)
    }

    /// On the thread `terminal`.
    func pressed(_ key: KeyPress, at instant: ContinuousClock.Instant) {
        let answered: (Entry, Answer)? = state.with { state in
            guard let entry = state.entries.first, let shown = state.shown, shown.id == entry.question.id,
                instant >= shown.since + Self.quietTime
            else { return nil }
            guard let (answer, letter) = Self.answer(key) else {
                state.isAskedAgain = true
                show(&state)
                return nil
            }
            state.entries.removeFirst()
            state.shown = nil
            Words.answered(letter)
            show(&state)
            return (entry, answer)
        }
        if let (entry, answer) = answered { entry.continuation.resume(returning: answer) }
    }

    /// Arrow keys end in capital letters, so a capital A is none of the answers.
    private static func answer(_ key: KeyPress) -> (Answer, String)? {
        switch key {
        case .key(UInt8(ascii: "y")), .key(UInt8(ascii: "Y")): (.yes, "y")
        case .key(UInt8(ascii: "n")), .key(UInt8(ascii: "N")): (.no, "n")
        case .key(UInt8(ascii: "a")): (.always, "a")
        case .key, .other: nil
        }
    }

    /// After Ctrl-Z, or a stop by somebody else: what was typed meanwhile was for the shell.
    private func resumed() {
        state.with { state in
            TerminalMode.enter()
            state.shown?.since = .now
            Words.showAgain()
        }
    }

    /// Shows the first question as it is now.
    private func show(_ state: inout State) {
        guard let question = state.entries.first?.question else {
            notify(nil)
            return
        }
        let now = ContinuousClock.now
        var rings = false
        if state.shown?.id != question.id {
            TerminalMode.enter()
            state.shown = (question.id, now)
            state.isAskedAgain = false
            rings = state.lastBell.map { now - $0 > .seconds(3) } ?? true
            if rings { state.lastBell = now }
            notify(question)
        }
        Words.ask(
            Self.lines(question, waiting: state.entries.count, isAskedAgain: state.isAskedAgain, now: now),
            ringing: rings)
        tick(&state)
    }

    /// The question's lines; the last one takes the answer.
    static func lines(_ question: Question, waiting: Int, isAskedAgain: Bool, now: ContinuousClock.Instant) -> [String]
    {
        let left = max(0, Int((question.deadline - now) / .seconds(1) + 0.5))
        var last = "  Let them in? [y]es, [n]o, [a]lways, \(left) s left: "
        if isAskedAgain { last = "  Press y, n or a. Let them in? [y]es, [n]o, [a]lways, \(left) s left: " }
        if !TerminalMode.isForeground { last = "  This waits until share is in the foreground (fg), \(left) s left: " }
        return [
            "Knock\(waiting > 1 ? " 1 of \(waiting)" : ""): \(question.who) wants to watch.",
            "  The words on their side should be: \(question.words)",
            "  \(question.always)",
            last,
        ]
    }

    /// Counts the seconds down while there is a question.
    private func tick(_ state: inout State) {
        guard !state.isTicking else { return }
        state.isTicking = true
        Task { [self] in
            var goesOn = true
            while goesOn {
                try? await Task.sleep(for: .seconds(1))
                goesOn = self.state.with { state in
                    state.isTicking = !state.entries.isEmpty
                    if state.isTicking { show(&state) }
                    return state.isTicking
                }
            }
        }
    }
}
