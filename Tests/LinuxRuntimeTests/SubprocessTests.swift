import Glibc
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SubprocessTests {
    private static let environment = ["PATH": "/usr/bin:/bin", "GREETING": "hello there"]

    private func text(_ descriptor: Int32?) throws -> String {
        let descriptor = try #require(descriptor)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    @Test func streamsAndTheEndArePassedOn() throws {
        let process = try Subprocess(
            "sh", ["-c", "read line; echo \"$line, $GREETING\"; echo trouble >&2; exit 7"],
            environment: Self.environment, input: .pipe, output: .pipe, errors: .pipe)
        // Ctrl-C does not reach it.
        #expect(getpgid(process.id) == process.id)
        let input = try #require(process.input)
        #expect(write(input, "yes\n", 4) == 4)
        close(input)
        #expect(try text(process.output) == "yes, hello there\n")
        #expect(try text(process.errors) == "trouble\n")
        #expect(process.wait() == 7 && process.wait() == 7 && !process.isRunning)
        // The number may belong to another process now.
        process.send(SIGKILL)
    }

    @Test func bothOutputsCanBeOnePipe() throws {
        let process = try Subprocess(
            "sh", ["-c", "echo one; echo two >&2"], environment: Self.environment, output: .pipe, errors: .output)
        #expect(process.errors == nil && process.input == nil)
        #expect(try text(process.output) == "one\ntwo\n")
        #expect(process.wait() == 0)
    }

    @Test func whatCannotBeExecutedIsRefused() {
        #expect {
            _ = try Subprocess("/nonexistent", [], environment: [:], input: .pipe, output: .pipe, errors: .pipe)
        } throws: {
            ($0 as? Subprocess.Failure)?.code == ENOENT
        }
    }

    /// The threads of Dispatch block nearly every signal, and so do those that they start.
    @Test(arguments: [Subprocess.Group.same, .own, .session])
    func noSignalIsBlockedOrIgnoredInIt(group: Subprocess.Group) throws {
        var (all, former) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &former)
        let formerAction = signal(SIGUSR1, SIG_IGN)
        defer {
            signal(SIGUSR1, formerAction)
            pthread_sigmask(SIG_SETMASK, &former, nil)
        }
        let process = try Subprocess(
            "sh", ["-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; exec sleep 600 >&-"],
            environment: Self.environment, output: .pipe, group: group)
        let lines = try text(process.output).split(separator: "\n").map { $0.split(separator: "\t") }
        #expect(lines.count == 2)
        let masks = lines.compactMap { $0.count == 2 ? UInt64($0[1], radix: 16) : nil }
        #expect(masks.first == 0)
        #expect(masks.last.map { $0 & (1 << UInt64(SIGUSR1 - 1)) } == 0)
        process.send(SIGTERM)
        #expect(process.wait() == 128 + SIGTERM)
    }

    @Test(arguments: [Subprocess.Group.same, .own, .session])
    func itsGroupIsTheOneThatWasAskedFor(group: Subprocess.Group) throws {
        let process = try Subprocess("cat", [], environment: Self.environment, input: .pipe, group: group)
        #expect((getpgid(process.id) == process.id) == (group != .same))
        #expect((getsid(process.id) == process.id) == (group == .session))
        close(try #require(process.input))
        #expect(process.wait() == 0)
    }

    @Test func noOtherDescriptorIsPassedOn() throws {
        let foreign = dup(STDERR_FILENO)
        defer { close(foreign) }
        let process = try Subprocess("sh", ["-c", "ls /proc/$$/fd"], environment: Self.environment, output: .pipe)
        // Of the shell: its streams, and perhaps one of its own for scripts.
        let numbers = try text(process.output).split(separator: "\n").compactMap { Int32($0) }
        #expect(numbers.starts(with: [0, 1, 2]) && !numbers.contains(foreign))
        #expect(process.wait() == 0)
    }

    /// Foundation's `Process` waits for it, too, and leaves a zombie until then.
    @Test func oneWhoseDescendantLivesIsReaped() throws {
        let process = try Subprocess(
            "sh", ["-c", "sleep 600 & echo $!"], environment: Self.environment, output: .pipe)
        #expect(process.wait() == 0)
        let output = try #require(process.output)
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = read(output, &buffer, buffer.count)
        let descendant = try #require(Int32(String(decoding: buffer[..<max(count - 1, 0)], as: UTF8.self)))
        #expect(kill(descendant, SIGKILL) == 0)
        #expect(waitpid(process.id, nil, WNOHANG) == -1 && errno == ECHILD)
    }
}
