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
        var end: End?
        var waiting: [Int: CheckedContinuation<End?, Never>] = [:]
        var nextWaiting = 0
    }

    /// How much of stderr is kept.
    private static let errorBytes = 4_096
    private let process: Subprocess
    private let state: Monitor<State>

    /// - Throws: `.noProgram` if the program cannot be started.
    init(_ program: String, _ arguments: [String], environment: [String: String]) throws(ShareKitError) {
        do throws(Subprocess.Failure) {
            process = try Subprocess(
                program, arguments, environment: environment, errors: .pipe, group: .session)
        } catch {
            throw .missing(program, error)
        }
        let state = Monitor(State())
        self.state = state
        // Reads for as long as the program runs, so that it never waits for a reader.
        _ = NamedThread("share-host") { [process] in Self.follow(process, state) }
    }

    var hasEnded: Bool { state.with { $0.end != nil } }

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
    func terminate() { process.send(SIGTERM) }

    private static func follow(_ process: Subprocess, _ state: Monitor<State>) {
        var kept: [UInt8] = []
        if let errors = process.errors {
            var buffer = [UInt8](repeating: 0, count: 1_024)
            while true {
                let count = read(errors, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                kept = (kept + buffer[..<count]).suffix(errorBytes)
            }
            close(errors)
        }
        let end = end(process.wait(), String(decoding: kept, as: UTF8.self))
        let waiting = state.with { state in
            state.end = end
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: end) }
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
