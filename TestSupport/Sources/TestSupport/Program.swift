public import Foundation
import Glibc

/// A program that a test starts in a process group of its own, with its signals as a shell would set them. The whole
/// group is killed with the value.
///
/// Foundation's `Process` is unsuitable: it waits until no other child has its descriptors either, and its children
/// inherit the signal mask of the threads that run tests, which block every signal.
// SAFETY: shared state is guarded by `condition`.
public final class Program: @unchecked Sendable {
    public enum Output: Sendable { case standard, error }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }
    }

    private let identifier: pid_t
    private let name: String
    private let condition = NSCondition()
    private var output = OutputPipe()
    private var errors = OutputPipe()
    private var status: Int32?

    private static let starting = NSLock()

    /// - Parameters:
    ///   - name: a path, or a name to be found in PATH.
    ///   - environment: changes to the test's own environment; nil removes a variable.
    ///   - input: the program's stdin; empty if nil.
    public init(
        _ name: String, _ arguments: [String] = [], environment changes: [String: String?] = [:], input: String? = nil
    ) throws {
        // A program that is started concurrently must not inherit pipes that are not yet close-on-exec.
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
        // The threads that run tests block every signal, and shells ignore some signals for background processes.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var environment = ProcessInfo.processInfo.environment
        for (variable, value) in changes { environment[variable] = value }
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
            throw Failure("\(name): \(String(cString: strerror(result)))")
        }
        let started = id
        identifier = started
        self.name = (name as NSString).lastPathComponent
        (output.descriptor, errors.descriptor) = (out.read, err.read)
        read(out.read, \.output)
        read(err.read, \.errors)
        Thread.detachNewThread { [weak self] in
            var status: Int32 = 0
            while waitpid(started, &status, 0) < 0, errno == EINTR {}
            self?.change { program in
                // All that it has written is in the pipes; its child processes may hold them open.
                program.output.read()
                program.errors.read()
                program.status = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
            }
        }
    }

    deinit {
        signal(SIGKILL)
        guard status == nil else { return }
        // The program must not write any more, as its folder is removed next. The reaping thread may be faster, which
        // is fine.
        var information = siginfo_t()
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    private var hasOpenOutput: Bool { output.descriptor != nil || errors.descriptor != nil }

    private static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("no pipe: \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private func read(_ descriptor: Int32, _ pipe: any ReferenceWritableKeyPath<Program, OutputPipe> & Sendable) {
        Thread.detachNewThread { [weak self] in
            var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            var isOpen = true
            while isOpen {
                guard poll(&state, 1, -1) > 0 else { continue }
                guard let program = self else { break }
                program.change {
                    $0[keyPath: pipe].read()
                    isOpen = $0[keyPath: pipe].descriptor != nil
                }
            }
            close(descriptor)
        }
    }

    private func change(_ body: (Program) -> Void) {
        condition.lock()
        body(self)
        condition.broadcast()
        condition.unlock()
    }

    /// The output on stdout and stderr so far. What the program has written to either before something that was seen of
    /// it is part of this, as the pipes are read here, too.
    public var text: (output: String, errors: String) {
        condition.lock()
        defer { condition.unlock() }
        output.read()
        errors.read()
        return (String(decoding: output.data, as: UTF8.self), String(decoding: errors.data, as: UTF8.self))
    }

    /// The process id. After the end it may belong to another process.
    public var processID: pid_t { identifier }

    public var isRunning: Bool {
        condition.lock()
        defer { condition.unlock() }
        return status == nil
    }

    /// The processor time used so far, in s; nil after the end.
    public var processorSeconds: Double? {
        guard isRunning, let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8) else {
            return nil
        }
        // The name, in brackets, may contain spaces; user and system time are the 14th and 15th field.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Sleeps until `found` returns a result for stdout and stderr; nil after `seconds`, or when the program has ended
    /// without one.
    public func wait<Result>(seconds: Double, _ found: (Data, Data) -> Result?) -> Result? {
        var left = seconds
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = found(output.data, errors.data) { return result }
            if status != nil, !hasOpenOutput { return nil }
            guard waitForNews(&left) else { return nil }
        }
    }

    /// Waits for one step of 0.1 s at most, so that a suspension of the machine uses up at most one step of the
    /// remaining time. The caller looks again after each step, as a change that comes while a step ends wakes nobody.
    /// - Returns: false when no time is left.
    private func waitForNews(_ left: inout Double) -> Bool {
        guard left > 0 else { return false }
        let start = ContinuousClock.now
        _ = condition.wait(until: Date(timeIntervalSinceNow: min(left, 0.1)))
        left -= min((ContinuousClock.now - start) / .seconds(1), 0.2)
        return true
    }

    /// Waits for the end of the program and of its output.
    /// - Returns: its exit code, or 128 + signal; nil if it still runs after that time.
    public func exitCode(seconds: Double) -> Int32? {
        var left = seconds
        condition.lock()
        defer { condition.unlock() }
        while status == nil || hasOpenOutput {
            guard waitForNews(&left) else { return status }
        }
        return status
    }

    /// Waits for the end of the program; its child processes may live on. ``text`` then has all that it wrote itself.
    /// - Returns: its exit code, or 128 + signal.
    public func exitCode() async -> Int32 {
        await onThread { program in
            program.condition.lock()
            defer { program.condition.unlock() }
            while true {
                if let status = program.status { return status }
                program.condition.wait()
            }
        }
    }

    /// Waits on a thread of its own, as the threads that run tests are few.
    private func onThread<Result: Sendable>(_ body: @escaping @Sendable (Program) -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body(self)) }
        }
    }

    /// Sends SIGINT, as Ctrl-C does.
    public func interrupt() { signal(SIGINT) }

    /// Sends SIGTERM, as a service manager does.
    public func requestEnd() { signal(SIGTERM) }

    /// Sends SIGTERM and waits for the end.
    public func terminate() { end(SIGTERM) }

    /// Kills the program and its group, like a crash. May be called twice.
    public func kill() { end(SIGKILL) }

    /// Stops the program with its sockets open until ``resume()``, which looks like a network outage to its peers.
    public func suspend() { signal(SIGSTOP) }
    public func resume() { signal(SIGCONT) }

    private func end(_ number: Int32) {
        signal(number)
        let deadline = Date(timeIntervalSinceNow: 10)
        condition.lock()
        defer { condition.unlock() }
        while status == nil, condition.wait(until: deadline) {}
    }

    private func signal(_ number: Int32) {
        condition.lock()
        defer { condition.unlock() }
        // Once the program is reaped and its output is closed, the group's id may belong to other processes.
        if status == nil || hasOpenOutput { _ = Glibc.kill(-identifier, number) }
    }
}

// MARK: - Lines

extension Program {
    /// The complete lines of output so far.
    public func lines(_ output: Output) -> [String] {
        let text = output == .standard ? text.output : text.errors
        return text.split(separator: "\n").map(String.init)
    }

    /// Sleeps until `found` returns a result for a past or future line; nil as for `wait`.
    public func line<Result>(
        _ output: Output = .standard, seconds: Double, _ found: (String) -> Result?
    ) -> Result? {
        var start = 0
        return wait(seconds: seconds) { standard, errors in
            let bytes = output == .standard ? standard : errors
            while let end = bytes[start...].firstIndex(of: 10) {
                let line = String(decoding: bytes[start..<end], as: UTF8.self)
                start = end + 1
                if let result = found(line) { return result }
            }
            return nil
        }
    }

    /// Returns the first past or future line that `matches`.
    public func line(
        _ output: Output, within limit: Duration, where matches: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let line = await onThread { $0.line(output, seconds: limit / .seconds(1)) { matches($0) ? $0 : nil } }
        guard let line else {
            let tail = (lines(.standard).suffix(5) + lines(.error).suffix(15)).joined(separator: "\n")
            throw Failure("\(name) did not say what was waited for; its last lines:\n\(tail)")
        }
        return line
    }

    /// Returns all of stdout up to the program's end, after 20 s at most.
    @discardableResult
    public func finish() -> String {
        _ = exitCode(seconds: 20)
        return text.output
    }

    /// Returns the path of the `share` that was built with these tests.
    public static func share() throws -> String { try built("share") }

    /// Returns the path of a program that was built with these tests, beside the running bundle.
    public static func built(_ name: String) throws -> String {
        var folders = [URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()]
        folders += CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) }
        let candidates = folders.map { $0.deletingLastPathComponent().appendingPathComponent(name).path }
        guard let path = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw Failure("no \(name) beside the tests, in \(candidates)")
        }
        return path
    }
}

/// What a program has written to one of its outputs. `Program.condition` guards it, reading included.
private struct OutputPipe {
    var data = Data()
    /// Nil once every process has closed its end.
    var descriptor: Int32?

    /// Reads what has come, which a pipe gives at once.
    mutating func read() {
        guard let descriptor else { return }
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var ready = poll(&state, 1, 0)
        while ready < 0, errno == EINTR { ready = poll(&state, 1, 0) }
        guard ready > 0 else { return }
        // The size of a pipe.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var count = Glibc.read(descriptor, &buffer, buffer.count)
        while count < 0, errno == EINTR { count = Glibc.read(descriptor, &buffer, buffer.count) }
        if count > 0 {
            data += buffer[..<count]
        } else {
            self.descriptor = nil
        }
    }
}
