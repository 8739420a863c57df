import Foundation
import Glibc
import Synchronization

/// A program in a process group of its own, whose output lines can be waited for.
///
/// `kill` ends the whole group and nothing else. Not ended, it is killed with this object.
final class Child: Sendable {
    enum Output: Hashable, Sendable { case standard, error }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Waiter {
        let output: Output
        let matches: @Sendable (String) -> Bool
        let continuation: CheckedContinuation<String?, Never>
    }

    private struct State {
        var lines: [Output: [String]] = [:]
        var openOutputs: Set<Output> = [.standard, .error]
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var status: Int32?
        var exitWaiters: [CheckedContinuation<Int32, Never>] = []
    }

    private static let starting = NSLock()

    let processID: pid_t
    private let name: String
    private let state: Mutex<State>

    /// Starts `arguments[0]`, an absolute path, with standard input from nowhere.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        guard let path = arguments.first else { throw Failure(description: "no program") }
        // A second start must not inherit pipes that are not marked yet.
        Self.starting.lock()
        defer { Self.starting.unlock() }
        var pipes: [Output: (read: Int32, write: Int32)] = [:]
        for output in [Output.standard, .error] {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw Failure(description: "pipe: \(errno)") }
            ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
            pipes[output] = (ends[0], ends[1])
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[.standard]?.write ?? -1, 1)
        posix_spawn_file_actions_adddup2(&actions, pipes[.error]?.write ?? -1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        // Threads of a pool block signals, and shells ignore them for what runs in the background: a child has neither.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var variables = ProcessInfo.processInfo.environment
        variables.merge(environment) { $1 }
        var argumentPointers = arguments.map { strdup($0) } + [nil]
        var variablePointers = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argumentPointers + variablePointers).forEach { free($0) } }
        var id: pid_t = 0
        let result = posix_spawn(&id, path, &actions, &attributes, &argumentPointers, &variablePointers)
        pipes.values.forEach { close($0.write) }
        guard result == 0 else {
            pipes.values.forEach { close($0.read) }
            throw Failure(description: "\(path): \(String(cString: strerror(result)))")
        }
        let started = id
        processID = started
        name = (path as NSString).lastPathComponent
        state = Mutex(State())
        for (output, ends) in pipes {
            Thread.detachNewThread { [weak self] in
                var reader = LineReader(file: ends.read)
                while let line = reader.next() { self?.append(line, output) }
                self?.ended(output)
            }
        }
        Thread.detachNewThread { [weak self] in
            var status: Int32 = 0
            while waitpid(started, &status, 0) < 0, errno == EINTR {}
            self?.exited(status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F)
        }
    }

    deinit { kill() }

    /// What has come so far.
    func lines(_ output: Output) -> [String] { state.withLock { $0.lines[output] ?? [] } }

    /// The first line, past or future, that `matches`.
    func line(
        _ output: Output, within limit: Duration, where matches: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timeout = Task { [weak self] in
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            self?.state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: nil)
        }
        defer { timeout.cancel() }
        let line = await withCheckedContinuation { (continuation: CheckedContinuation<String?, Never>) in
            let answer: String?? = state.withLock { state in
                if let line = state.lines[output]?.first(where: matches) { return .some(line) }
                guard state.openOutputs.contains(output) else { return .some(nil) }
                state.waiters[id] = Waiter(output: output, matches: matches, continuation: continuation)
                return .none
            }
            if let answer { continuation.resume(returning: answer) }
        }
        guard let line else {
            let tail = (lines(.standard).suffix(5) + lines(.error).suffix(15)).joined(separator: "\n")
            throw Failure(description: "\(name) did not say what was waited for; its last lines:\n\(tail)")
        }
        return line
    }

    /// Waits for its end.
    /// - Returns: its exit code, or 128 + signal.
    func exitCode() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status: Int32? = state.withLock { state in
                if state.status == nil { state.exitWaiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    /// As Ctrl-C would.
    func interrupt() { signal(SIGINT) }

    /// Ends it and all that it started. May be called twice.
    func kill() { signal(SIGKILL) }

    private func signal(_ number: Int32) {
        // Once it is reaped and nothing of it writes any more, the group's id may belong to somebody else.
        let mayLive = state.withLock { $0.status == nil || !$0.openOutputs.isEmpty }
        if mayLive { _ = Glibc.kill(-processID, number) }
    }

    private func append(_ line: String, _ output: Output) {
        let met = state.withLock { state in
            state.lines[output, default: []].append(line)
            let met = state.waiters.filter { $0.value.output == output && $0.value.matches(line) }
            met.keys.forEach { state.waiters[$0] = nil }
            return met
        }
        met.values.forEach { $0.continuation.resume(returning: line) }
    }

    private func ended(_ output: Output) {
        let left = state.withLock { state in
            state.openOutputs.remove(output)
            let left = state.waiters.filter { $0.value.output == output }
            left.keys.forEach { state.waiters[$0] = nil }
            return left
        }
        left.values.forEach { $0.continuation.resume(returning: nil) }
    }

    private func exited(_ status: Int32) {
        let waiters = state.withLock { state in
            state.status = status
            defer { state.exitWaiters = [] }
            return state.exitWaiters
        }
        waiters.forEach { $0.resume(returning: status) }
    }
}

/// Lines of a file descriptor, blocking; closes it at the end.
private struct LineReader {
    let file: Int32
    private var buffer: [UInt8] = []
    private var isAtEnd = false

    init(file: Int32) { self.file = file }

    mutating func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            if isAtEnd {
                guard !buffer.isEmpty else { return nil }
                defer { buffer = [] }
                return String(decoding: buffer, as: UTF8.self)
            }
            var chunk = [UInt8](repeating: 0, count: 16_384)
            let count = read(file, &chunk, chunk.count)
            if count > 0 {
                buffer += chunk[..<count]
            } else if count == 0 || errno != EINTR {
                isAtEnd = true
                close(file)
            }
        }
    }
}
