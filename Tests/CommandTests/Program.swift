import Foundation
import Glibc

/// A program that a test started, in a process group of its own, with its signals as a person's shell would set them.
/// Killed with the value.
// SAFETY: reader threads and the test meet under `condition`.
final class Program: @unchecked Sendable {
    let identifier: pid_t
    private let condition = NSCondition()
    private var output = Data()
    private var errors = Data()
    private var openOutputs = 2
    private var status: Int32?

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static let starting = NSLock()

    /// - Parameters:
    ///   - name: a path, or a name to be found in PATH.
    ///   - environment: all of it.
    ///   - input: what it reads on stdin; nothing if nil.
    init(_ name: String, _ arguments: [String], environment: [String: String], input: String? = nil) throws {
        // A second start must not inherit pipes that are not marked yet.
        Self.starting.lock()
        defer { Self.starting.unlock() }
        let (out, err, stdin) = (try Self.makePipe(), try Self.makePipe(), try Self.makePipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin.read, 0)
        posix_spawn_file_actions_adddup2(&actions, out.write, 1)
        posix_spawn_file_actions_adddup2(&actions, err.write, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        // The threads that run tests block every signal, and children inherit that.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var argumentPointers = ([name] + arguments).map { strdup($0) } + [nil]
        var variablePointers = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argumentPointers + variablePointers).forEach { free($0) } }
        var id: pid_t = 0
        let result = posix_spawnp(&id, name, &actions, &attributes, &argumentPointers, &variablePointers)
        for end in [out.write, err.write, stdin.read] { close(end) }
        if let input { _ = write(stdin.write, input, input.utf8.count) }
        close(stdin.write)
        guard result == 0 else {
            close(out.read)
            close(err.read)
            throw Failure(description: "\(name): \(String(cString: strerror(result)))")
        }
        let started = id
        identifier = started
        read(out.read) { $0.output += $1 }
        read(err.read) { $0.errors += $1 }
        Thread.detachNewThread { [weak self] in
            var status: Int32 = 0
            while waitpid(started, &status, 0) < 0, errno == EINTR {}
            self?.change { $0.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F }
        }
    }

    deinit { signal(SIGKILL) }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(description: "no pipe: \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private func read(_ file: Int32, _ take: @escaping @Sendable (Program, Data) -> Void) {
        Thread.detachNewThread { [weak self] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(file, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                let data = Data(buffer[..<count])
                self?.change { take($0, data) }
            }
            close(file)
            self?.change { $0.openOutputs -= 1 }
        }
    }

    private func change(_ body: (Program) -> Void) {
        condition.lock()
        body(self)
        condition.broadcast()
        condition.unlock()
    }

    /// What it wrote on stdout and stderr so far.
    var text: (output: String, errors: String) {
        condition.lock()
        defer { condition.unlock() }
        return (String(decoding: output, as: UTF8.self), String(decoding: errors, as: UTF8.self))
    }

    var isRunning: Bool {
        condition.lock()
        defer { condition.unlock() }
        return status == nil
    }

    /// Sleeps until `found` makes something of stdout and stderr; nil after `seconds`, or when the program has ended without it.
    func wait<Result>(seconds: Double, _ found: (Data, Data) -> Result?) -> Result? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = found(output, errors) { return result }
            if status != nil, openOutputs == 0 { return nil }
            guard condition.wait(until: deadline) else { return nil }
        }
    }

    /// Waits for its end.
    /// - Returns: its exit code, or 128 + signal; nil if it still runs after that time.
    func exitCode(seconds: Double) -> Int32? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while status == nil || openOutputs > 0 {
            guard condition.wait(until: deadline) else { return status }
        }
        return status
    }

    /// Ctrl-C.
    func interrupt() { signal(SIGINT) }

    /// As a crash would, and all that it started.
    func kill() {
        signal(SIGKILL)
        _ = exitCode(seconds: 5)
    }

    private func signal(_ number: Int32) {
        if isRunning { _ = Glibc.kill(-identifier, number) }
    }
}
