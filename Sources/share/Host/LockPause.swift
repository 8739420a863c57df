import CommandSupport
import Glibc
import Host
import LinuxRuntime
import PeerConnection
import SessionBus

/// Pauses a system broadcast while the user's session is locked, and asks on return (``LockPausePolicy``).
final class LockPause: Sendable {
    private let broadcast: any ControllableBroadcast
    private let output: DataOutput
    private let question: ReturnQuestion
    private let stop: @Sendable (EndReason) -> Void
    private let observer = Monitor<ScreenLockObserver?>(nil)
    private let hasEnded = Monitor(false)
    private let events: AsyncStream<LockPausePolicy.Event>
    private let feed: AsyncStream<LockPausePolicy.Event>.Continuation

    /// - Parameter stop: called when the user ends the broadcast; it returns at once.
    init(
        _ broadcast: any ControllableBroadcast, prompt: Prompt, _ output: DataOutput,
        stop: @escaping @Sendable (EndReason) -> Void
    ) {
        self.broadcast = broadcast
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
        case .pause: return policy.handle(.paused(await broadcast.pause()))
        case .ask:
            question.ask { [feed] resumes in feed.yield(.answered(resumes: resumes)) }
        case .withdraw: question.withdraw()
        case .resume: await broadcast.resume()
        case .end: stop(EndReason(.stopped, "ended after your session was locked"))
        }
        return nil
    }

    private func report(_ event: String, _ sentence: String) {
        output.event(event)
        ErrorOutput.writeLine("share: \(sentence)")
    }
}
