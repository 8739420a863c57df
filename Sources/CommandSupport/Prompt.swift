import Admission
import Host
package import Identifiers
import LinuxRuntime
import Signaling
import Synchronization

/// Asks in the terminal, one question at a time, in their order: about knocks, about hosts that want to broadcast to a
/// service, and whether a broadcast that was paused by the session's lock goes on.
///
/// A key answers a question only if it is pressed at least 1 s after the question was shown. Earlier keys are
/// discarded, because they were meant for something else.
package final class Prompt: Sendable {
    package enum Answer: Sendable { case yes, no, always }

    package struct Question: Sendable {
        package enum Kind: Sendable {
            /// Somebody knocks. The answer can be "always", and time is limited.
            case knock
            /// A viewer asks for a right. Time is limited.
            case right
            /// The user comes back to a broadcast that the session's lock has paused.
            case afterLock
        }

        package let kind: Kind
        package let id: KnockID
        /// The peer's quoted name, its kind and its address.
        package let who: String
        /// What the peer wants, after its name: "wants to watch".
        package let request: String
        /// Further lines of the question.
        package let details: [String]
        /// The question before the keys.
        package let invitation: String
        package let deadline: ContinuousClock.Instant

        package init(
            kind: Kind = .knock, id: KnockID, who: String, request: String, details: [String], invitation: String,
            deadline: ContinuousClock.Instant
        ) {
            self.kind = kind
            self.id = id
            self.who = who
            self.request = request
            self.details = details
            self.invitation = invitation
            self.deadline = deadline
        }
    }

    /// What reaches the terminal beside the answers to questions.
    package enum FreeInput: Sendable, Equatable {
        case key(KeyPress)
        /// One of the keys that are passed on while a question is asked, too.
        case urgent(UInt8)
        /// A question is asked from now on.
        case question
    }

    private struct Entry {
        let question: Question
        let continuation: CheckedContinuation<Answer?, Never>
    }

    private struct State {
        var entries: [Entry] = []
        /// The question on the screen, and since when it is shown.
        var shown: (id: KnockID, since: ContinuousClock.Instant)?
        var isStarted = false
        var isAskedAgain = false
        var isTicking = false
        var lastBell: ContinuousClock.Instant?
        /// When the last question ended.
        var ended: ContinuousClock.Instant?
        var freeInput: (@Sendable (FreeInput) -> Void)?
        /// Passed on at any moment.
        var urgentKeys: Set<UInt8> = []
        /// A text is typed, of which those keys are a part.
        var isWriting = false
        /// The process stops, and has left the terminal to the shell.
        var isSuspended = false
    }

    /// How long keys are ignored after a question is shown.
    package static let quietTime = Duration.seconds(1)

    private let state = Mutex(State())
    /// Called with each new question, and with nil when none is left. Must not block.
    private let notify: @Sendable (Question?) -> Void

    package init(notify: @escaping @Sendable (Question?) -> Void = { _ in }) {
        self.notify = notify
    }

    /// Switches the terminal to single keys and starts to read it. Call after `Signals.handle`; a second call does
    /// nothing.
    package func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            if !state.isStarted { TerminalMode.enter() }
            return !state.isStarted
        }
        guard isFirst else { return }
        TerminalInput.start(onForeground: { [self] in enterForeground() }) { [self] key, instant in
            pressed(key, at: instant)
        }
        Signals.onSuspension { [self] in
            state.withLock { state in
                state.isSuspended = true
                ErrorOutput.hide()
                TerminalMode.restore()
            }
        } resumed: { [self] in
            resumed()
        }
    }

    /// Sets who gets the keys that are pressed while no question is asked, and was not in the last second.
    /// - Parameters:
    ///   - urgentKeys: are passed on at any moment, and answer no question.
    ///   - handler: called on any thread, in the order of the keys. Must not block, nor call this prompt.
    package func onFreeInput(urgentKeys: Set<UInt8> = [], _ handler: (@Sendable (FreeInput) -> Void)?) {
        state.withLock { state in
            state.freeInput = handler
            state.urgentKeys = handler == nil ? [] : urgentKeys
        }
    }

    /// Shows a line in which something is typed, in the place of a question; a question takes its place.
    /// - Parameter isText: the urgent keys are a part of what is typed.
    package func showInput(_ line: String, isText: Bool = false) {
        state.withLock { state in
            guard state.entries.isEmpty else { return }
            state.isWriting = isText
            ErrorOutput.ask([line])
        }
    }

    /// Takes the line of `showInput` away.
    package func endInput() {
        state.withLock { state in
            state.isWriting = false
            if state.entries.isEmpty { ErrorOutput.answered(nil) }
        }
    }

    /// Queues a question and waits for its answer.
    /// - Returns: nil if the task is cancelled first.
    package func answer(to question: Question) async -> Answer? {
        await OpenQuestions.ofProcess.asking { await queue(question) }
    }

    private func queue(_ question: Question) async -> Answer? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.isWriting = false
                    state.entries.insert(
                        Entry(question: question, continuation: continuation), at: Self.place(question, state.entries))
                    show(&state)
                }
                // The task was cancelled before the entry was appended.
                if Task.isCancelled { withdraw(question.id) }
            }
        } onCancel: {
            withdraw(question.id)
        }
    }

    /// The place of a new question: newcomers wait for no wishes of those who watch, but for the one that is shown.
    private static func place(_ question: Question, _ entries: [Entry]) -> Int {
        guard question.kind != .right else { return entries.count }
        return entries.indices.dropFirst().first { entries[$0].question.kind == .right } ?? entries.count
    }

    /// Returns whether the question is queued or shown.
    package func isWaiting(_ id: KnockID) -> Bool { state.withLock { $0.entries.contains { $0.question.id == id } } }

    private func withdraw(_ id: KnockID) {
        let entry: Entry? = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.question.id == id }) else { return nil }
            let entry = state.entries.remove(at: index)
            if state.shown?.id == id {
                state.shown = nil
                ErrorOutput.answered(nil)
            }
            show(&state)
            return entry
        }
        entry?.continuation.resume(returning: nil)
    }

    /// Handles a key. Called on the thread `terminal`.
    package func pressed(_ key: KeyPress, at instant: ContinuousClock.Instant) {
        let answered: (Entry, Answer)? = state.withLock { state in
            if case .key(let byte) = key, state.urgentKeys.contains(byte), !state.isWriting {
                state.freeInput?(.urgent(byte))
                return nil
            }
            if state.entries.isEmpty, state.ended.map({ instant >= $0 + Self.quietTime }) ?? true {
                state.freeInput?(.key(key))
            }
            guard let entry = state.entries.first, let shown = state.shown, shown.id == entry.question.id,
                instant >= shown.since + Self.quietTime
            else { return nil }
            guard let (answer, letter) = Self.answer(key), answer != .always || entry.question.kind == .knock else {
                state.isAskedAgain = true
                show(&state)
                return nil
            }
            end(&state, letter)
            return (entry, answer)
        }
        if let (entry, answer) = answered { entry.continuation.resume(returning: answer) }
    }

    /// Answers the question that is shown, from elsewhere than the terminal. The first answer counts.
    /// - Parameters:
    ///   - place: "in the notification"; the terminal shows it with the answer.
    ///   - instant: when it was given. As for keys, it has to be a second after the question was shown.
    /// - Returns: false if the answer does not count.
    package func answer(
        _ id: KnockID, _ answer: Answer, _ place: String, at instant: ContinuousClock.Instant
    ) -> Bool {
        let entry: Entry? = state.withLock { state in
            guard let entry = state.entries.first, entry.question.id == id, let shown = state.shown, shown.id == id,
                instant >= shown.since + Self.quietTime
            else { return nil }
            end(&state, "\(answer) (\(place))")
            return entry
        }
        entry?.continuation.resume(returning: answer)
        return entry != nil
    }

    /// Takes the first question away, and shows the next one.
    private func end(_ state: inout State, _ text: String) {
        state.entries.removeFirst()
        state.shown = nil
        ErrorOutput.answered(text)
        show(&state)
    }

    /// The sequences of arrow keys end in capital letters, so a capital A is not an answer.
    private static func answer(_ key: KeyPress) -> (Answer, String)? {
        switch key {
        case .key(UInt8(ascii: "y")), .key(UInt8(ascii: "Y")): (.yes, "y")
        case .key(UInt8(ascii: "n")), .key(UInt8(ascii: "N")): (.no, "n")
        case .key(UInt8(ascii: "a")): (.always, "a")
        case .key, .text: nil
        }
    }

    /// Called when the process continues after a stop. Keys pressed meanwhile were meant for the shell and are
    /// discarded.
    private func resumed() {
        state.withLock { state in
            state.isSuspended = false
            TerminalMode.enter()
            state.shown?.since = .now
            ErrorOutput.showAgain()
        }
        TerminalInput.recheck()
    }

    /// Called on the thread `terminal` when the process has come to the foreground without a stop (`share host &`, then
    /// `fg`).
    private func enterForeground() {
        state.withLock { state in
            guard !state.isSuspended, TerminalMode.enter() else { return }
            state.shown?.since = .now
            ErrorOutput.showAgain()
        }
    }

    /// Shows the first question in its present state.
    private func show(_ state: inout State) {
        guard let question = state.entries.first?.question else {
            notify(nil)
            state.ended = .now
            return
        }
        let now = ContinuousClock.now
        var rings = false
        if state.shown?.id != question.id {
            TerminalMode.enter()
            if state.shown == nil { state.freeInput?(.question) }
            state.shown = (question.id, now)
            state.isAskedAgain = false
            rings = state.lastBell.map { now - $0 > .seconds(3) } ?? true
            if rings { state.lastBell = now }
            notify(question)
        }
        ErrorOutput.ask(
            Self.lines(question, waiting: state.entries.count, isAskedAgain: state.isAskedAgain, now: now),
            ringing: rings)
        tick(&state)
    }

    /// The lines of a question; the answer is typed at the end of the last one.
    package static func lines(
        _ question: Question, waiting: Int, isAskedAgain: Bool, now: ContinuousClock.Instant
    ) -> [String] {
        let left = max(0, Int((question.deadline - now) / .seconds(1) + 0.5))
        let place = waiting > 1 ? " 1 of \(waiting)" : ""
        let (heading, keys, again, limit) =
            switch question.kind {
            case .knock: ("Knock", "[y]es, [n]o, [a]lways, \(left) s left: ", "y, n or a", ", \(left) s left: ")
            case .right: ("Viewer", "[y]es, [n]o, \(left) s left: ", "y or n", ", \(left) s left: ")
            case .afterLock: ("Paused", "[y]es, [n]o (ends it): ", "y or n", ": ")
            }
        var last = "  \(question.invitation) \(keys)"
        if isAskedAgain { last = "  Press \(again). " + last.dropFirst(2) }
        if !TerminalMode.isForeground { last = "  This waits until share is in the foreground (fg)\(limit)" }
        return ["\(heading)\(place): \(question.who) \(question.request)."] + question.details.map { "  " + $0 } + [
            last
        ]
    }

    /// Redraws the question each second, for its countdown.
    private func tick(_ state: inout State) {
        guard !state.isTicking else { return }
        state.isTicking = true
        Task { [self] in
            var goesOn = true
            while goesOn {
                try? await Task.sleep(for: .seconds(1))
                goesOn = self.state.withLock { state in
                    state.isTicking = !state.entries.isEmpty
                    if state.isTicking { show(&state) }
                    return state.isTicking
                }
            }
        }
    }
}
