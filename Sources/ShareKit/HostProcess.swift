internal import Glibc
internal import LinuxRuntime

/// The program `share host`, started for a system broadcast, in a session of its own: it goes on when the app ends.
final class HostProcess: Sendable {
    struct End: Sendable, Equatable {
        /// Its exit code, or 128 + signal.
        var code: Int32
        /// Its last message on stderr, and what it said to do about it.
        var sentence: String
        var remedy: String
    }

    private struct State {
        var hasEnded = false
        var end: End?
        var waiting: [Int: CheckedContinuation<End?, Never>] = [:]
        var nextWaiting = 0
    }

    /// How much of stderr is kept.
    private static let errorBytes = 4_096
    private let identifier: pid_t
    private let state: Monitor<State>

    /// - Throws: `.noProgram` if the program cannot be started.
    init(_ program: String, _ arguments: [String], environment: [String: String]) throws(ShareKitError) {
        let id: pid_t
        let errors: Int32
        do throws(DetachedProgram.Failure) {
            (id, errors) = try DetachedProgram.start(program, arguments, environment: environment)
        } catch {
            throw ShareKitError(
                .noProgram, "\(program) cannot be started: \(String(cString: strerror(error.code)))",
                remedy: "Install share, or give its path.")
        }
        identifier = id
        let state = Monitor(State())
        self.state = state
        // Reads for as long as the program runs, so that it never waits for a reader.
        _ = NamedThread("share-host") { Self.follow(id, errors, state) }
    }

    var hasEnded: Bool { state.with { $0.hasEnded } }

    /// Returns when the program has ended; nil if the task is cancelled before.
    func end() async -> End? {
        let number = state.with { state in
            state.nextWaiting += 1
            return state.nextWaiting
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let end: End?? = state.with { state in
                    if let end = state.end { return .some(end) }
                    // The handler below may have run before the continuation is stored.
                    if Task.isCancelled { return .some(nil) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let end { continuation.resume(returning: end) }
            }
        } onCancel: {
            state.with { $0.waiting.removeValue(forKey: number) }?.resume(returning: nil)
        }
    }

    /// Asks the program to end, as Ctrl-C does. After its end this does nothing.
    func terminate() {
        // Under the lock, as after the end the number may belong to another process.
        state.with { if !$0.hasEnded { kill(identifier, SIGTERM) } }
    }

    private static func follow(_ id: pid_t, _ errors: Int32, _ state: Monitor<State>) {
        var kept: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = read(errors, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            kept = (kept + buffer[..<count]).suffix(errorBytes)
        }
        close(errors)
        // It has closed stderr, and so ends or has ended; it is not reaped before `hasEnded` is set.
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        let waiting = state.with { state in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let code = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
            let end = end(code, String(decoding: kept, as: UTF8.self))
            (state.hasEnded, state.end) = (true, end)
            defer { state.waiting = [:] }
            return state.waiting.values.map { ($0, end) }
        }
        for (continuation, end) in waiting { continuation.resume(returning: end) }
    }

    /// The last message begins with "share: "; what to do follows it, indented.
    static func end(_ code: Int32, _ text: String) -> End {
        let lines = text.split(separator: "\n")
        guard let last = lines.lastIndex(where: { $0.hasPrefix("share: ") }) else {
            return End(code: code, sentence: "", remedy: "")
        }
        let remedy = lines[(last + 1)...].map { $0.drop { $0 == " " } }.joined(separator: " ")
        return End(code: code, sentence: String(lines[last].dropFirst(7)), remedy: remedy)
    }
}
