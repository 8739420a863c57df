internal import Glibc
internal import LinuxRuntime
internal import MediaCore
import Synchronization

/// The loop of the thread `extension`: starts the program, reads its messages, watches it, and waits for its end.
/// Confined to that thread.
struct ExtensionLoop {
    private let process: ExtensionProcess
    private var lifecycle: ExtensionLifecycle
    /// Why the program has ended; nil while it runs.
    private var end: ExtensionEnd?
    private var nextCheck: MediaInstant
    /// How often memory and progress are looked at.
    private static let checkInterval = MediaDuration.milliseconds(250)
    /// Finds what an upload program starts. What a setup program starts may stay: a browser to sign in with, say.
    private let mark: ProcessMark?
    private static let markName = "SHARE_EXTENSION"
    private static let marks = Mutex(0)

    init(_ process: ExtensionProcess) {
        self.process = process
        let now = MonotonicClock.now
        lifecycle = ExtensionLifecycle(limits: process.limits, isSetup: process.program.isSetup, now: now)
        nextCheck = now + Self.checkInterval
        let number = Self.marks.withLock { number in
            number += 1
            return number
        }
        mark = process.program.isSetup ? nil : ProcessMark(Self.markName, number: number)
    }

    /// Returns when the program has ended and everything is released.
    mutating func run(_ start: ExtensionStart, _ theirs: LocalConnection) {
        let program = process.program
        ProcessMark.endOrphans(Self.markName)
        do throws(TrustedProgram.Failure) {
            let path = TrustedProgram.isOwn(program.path) ? program.path : try TrustedProgram.check(program.path)
            self.start(path, start, theirs)
        } catch {
            if case .system(let code) = error.reason {
                end = .notStarted(code)
            } else {
                end = .untrusted(error.description)
            }
        }
        // The process has ended and its descriptor is closed.
        mark?.endProcesses()
        process.link.with { $0.close() }
        if let end { process.handler(.ended(end)) }
    }

    private mutating func start(_ path: String, _ start: ExtensionStart, _ theirs: consuming LocalConnection) {
        let program = process.program
        do throws(ChildProcess.Failure) {
            let child = try ChildProcess(
                path, program.arguments,
                environment: ProgramEnvironment.texts + program.environment + (mark.map { [$0.text] } ?? []),
                socket: theirs.descriptor, takesInput: program.isSetup)
            watch(child, start, theirs)
        } catch {
            end = .notStarted(error.code)
        }
    }

    private mutating func watch(
        _ child: consuming ChildProcess, _ start: ExtensionStart, _ theirs: consuming LocalConnection
    ) {
        // Only the program holds the other end from now on, so that its end is noticed.
        _ = consume theirs
        _ = process.link.with { $0.send(.start(start)) }
        while end == nil {
            wait(child)
            let now = MonotonicClock.now
            receive(child, now)
            if process.link.with({ $0.isFinishing }) { handle(.finish, child, now) }
            handle(.time, child, now)
            if now >= nextCheck {
                nextCheck = now + Self.checkInterval
                check(child, now)
            }
            if let end = child.takeEnd() {
                // What it has said before its end, as far as the socket's buffer holds it.
                for _ in 0..<64 where process.link.with({ $0.descriptor }) != nil { receive(child, now) }
                handle(.exited(Self.reason(end)), child, now)
            }
        }
    }

    private func wait(_ child: borrowing ChildProcess) {
        let (socket, isBlocked) = process.link.with { ($0.descriptor ?? -1, $0.isBlocked) }
        var descriptors = [
            pollfd(fd: process.wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(isBlocked ? POLLIN | POLLOUT : POLLIN), revents: 0),
        ]
        let deadline = lifecycle.nextDeadline.map { min($0, nextCheck) } ?? nextCheck
        let left = max((deadline - MonotonicClock.now).nanoseconds / 1_000_000 + 1, 0)
        poll(&descriptors, 3, Int32(clamping: left))
        process.wakeup.consume()
    }

    private mutating func receive(_ child: borrowing ChildProcess, _ now: MediaInstant) {
        process.link.with { $0.flush() }
        let messages: [ExtensionMessage]
        let failure: ChannelFailure?
        (messages, failure) = process.link.with { link in
            do throws(ChannelFailure) {
                return (try link.receive(), link.failure)
            } catch {
                return ([], error)
            }
        }
        for message in messages { handle(.message(message), child, now) }
        switch failure {
        case .malformed: handle(.malformedMessage, child, now)
        case .closed:
            process.link.with { $0.close() }
            handle(.connectionClosed, child, now)
        case nil: break
        }
    }

    private mutating func check(_ child: borrowing ChildProcess, _ now: MediaInstant) {
        let (shared, stall) = process.link.with { ($0.sharedBytes, $0.stall(now: now)) }
        if let memory = child.privateMemory(except: shared) { handle(.memory(memory), child, now) }
        handle(.stalled(stall), child, now)
    }

    private mutating func handle(
        _ event: ExtensionLifecycle.Event, _ child: borrowing ChildProcess, _ now: MediaInstant
    ) {
        for action in lifecycle.handle(event, now: now) {
            switch action {
            case .send(let message): _ = process.link.with { $0.send(message) }
            case .begin(let readiness):
                process.link.with { $0.isOpen = readiness.media != .none }
                process.handler(.began(readiness))
            case .deliver(.release(let memory, let slot)):
                if !process.link.with({ $0.release(memory: memory, slot: slot) }) {
                    handle(.malformedMessage, child, now)
                }
            case .deliver(let message): process.handler(.message(message))
            case .terminate: child.terminate()
            case .kill: child.kill()
            case .end(let why): end = why
            }
        }
    }

    private static func reason(_ end: ChildProcess.End) -> ExtensionEnd {
        switch end {
        case .exited(let code): .exited(code: code)
        case .signalled(let signal): .crashed(signal: signal)
        }
    }
}
