import Admission
import Foundation
import LinuxRuntime
import SessionBus
import Sessions
import Signaling
import Transport
import WindowPlayout

/// Pauses a system broadcast while the user's session is locked, and asks on return (``LockPausePolicy``).
final class LockPause: Sendable {
    private let session: HostSession
    private let output: DataOutput
    private let question: ReturnQuestion
    private let stop: @Sendable (EndReason) -> Void
    private let observer = Monitor<ScreenLockObserver?>(nil)
    private let hasEnded = Monitor(false)
    private let events: AsyncStream<LockPausePolicy.Event>
    private let feed: AsyncStream<LockPausePolicy.Event>.Continuation

    /// - Parameter stop: called when the user ends the broadcast; it returns at once.
    init(_ session: HostSession, prompt: Prompt, _ output: DataOutput, stop: @escaping @Sendable (EndReason) -> Void) {
        self.session = session
        self.output = output
        self.stop = stop
        question = ReturnQuestion(prompt)
        // A person locks and unlocks a session; 64 events in a row come from no person.
        (events, feed) = AsyncStream.makeStream(of: LockPausePolicy.Event.self, bufferingPolicy: .bufferingNewest(64))
        Task { [self] in await run() }
    }

    /// Begins to observe the session, on a thread of its own: the buses may answer slowly.
    func observe(_ environment: [String: String]) {
        let feed = feed
        _ = NamedThread("session-lock") { [observer, hasEnded] in
            let made = ScreenLockObserver(
                sessionBus: SessionBusAddress.running(in: environment),
                systemBus: environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket",
                user: getuid()
            ) { feed.yield($0 ? .locked : .unlocked) }
            if hasEnded.with({ $0 }) { made.close() } else { observer.with { $0 = made } }
        }
    }

    /// Somebody has resumed the broadcast.
    func resumed() { feed.yield(.resumed) }

    func close() {
        hasEnded.with { $0 = true }
        feed.finish()
        question.withdraw()
    }

    private func run() async {
        var policy = LockPausePolicy()
        for await event in events {
            switch event {
            case .locked: report("session-locked", "your session is locked")
            case .unlocked where policy.isLocked: report("session-unlocked", "your session is unlocked")
            default: break
            }
            var action = policy.handle(event)
            while let next = action { action = await perform(next, &policy) }
        }
        question.withdraw()
        observer.with { $0 }?.close()
    }

    /// - Returns: what follows.
    private func perform(_ action: LockPausePolicy.Action, _ policy: inout LockPausePolicy) async
        -> LockPausePolicy.Action?
    {
        switch action {
        case .pause: return policy.handle(.paused(await session.pause()))
        case .ask:
            question.ask { [feed] resumes in feed.yield(.answered(resumes: resumes)) }
        case .withdraw: question.withdraw()
        case .resume: await session.resume()
        case .end: stop(EndReason(.stopped, "ended after your session was locked"))
        }
        return nil
    }

    private func report(_ event: String, _ sentence: String) {
        output.event(event)
        ErrorOutput.writeLine("share: \(sentence)")
    }
}

/// Asks a user who has come back whether to resume the broadcast: in the terminal, or else in a window.
private final class ReturnQuestion: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var hasWindow = false
        /// Nothing is to be asked now.
        var isWithdrawn = false
        /// The window was closed, and its thread has not noticed yet.
        var wasWithdrawn = false
    }

    private let prompt: Prompt
    private let state = Monitor(State())

    init(_ prompt: Prompt) { self.prompt = prompt }

    /// - Parameter onAnswer: called with true to resume, with false to end; not called if nobody answers.
    func ask(_ onAnswer: @escaping @Sendable (Bool) -> Void) {
        guard isatty(STDIN_FILENO) != 1 else {
            prompt.start()
            let task = Task { [prompt] in
                if let answer = await prompt.answer(to: .afterLock) { onAnswer(answer == .yes) }
            }
            return state.with { $0.task = task }
        }
        guard QuestionWindow.isPossible else {
            return ErrorOutput.writeLine(
                "share: the broadcast stays paused; share resume continues, share stop ends it")
        }
        let isNew = state.with { state in
            defer { (state.hasWindow, state.isWithdrawn) = (true, false) }
            return !state.hasWindow
        }
        guard isNew else { return }
        _ = NamedThread("question") { [state] in
            while true {
                let answer = QuestionWindow.ask(
                    title: "share",
                    "Your session was locked, and the broadcast of your screen is paused.\nResume it?",
                    accept: "Resume", refuse: "End the broadcast")
                // A window that disappears after the next question was asked is shown for that one.
                let isOver = state.with { state in
                    state.hasWindow = answer == nil && !state.isWithdrawn && state.wasWithdrawn
                    state.wasWithdrawn = false
                    return !state.hasWindow
                }
                if isOver {
                    if let answer { onAnswer(answer) }
                    return
                }
            }
        }
    }

    func withdraw() {
        state.with { state in
            state.task?.cancel()
            (state.isWithdrawn, state.wasWithdrawn) = (true, state.hasWindow)
        }
        QuestionWindow.withdraw()
    }
}

extension Prompt.Question {
    /// The question to a user who comes back to a broadcast that the session's lock has paused.
    fileprivate static var afterLock: Self {
        Self(
            kind: .afterLock, id: .random(), who: "your session",
            request: "was locked, and nothing has been captured since",
            details: [], invitation: "Resume the broadcast?", deadline: .now + .seconds(365 * 86_400))
    }
}
