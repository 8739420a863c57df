internal import CLinux
internal import Glibc

/// A program that this process has started. It gets no other descriptor than its standard streams, and no signal is
/// blocked in it: threads of Dispatch block nearly all, and a program inherits the mask of the thread that starts it.
/// Reaped by a thread of its own. Safe from any thread; the program goes on when the object is released.
public final class Subprocess: Sendable {
    public struct Failure: Error, Equatable {
        /// ENOENT, for example.
        public let code: Int32
    }

    public enum Stream: Sendable {
        /// /dev/null.
        case null
        /// A descriptor of this process.
        case descriptor(Int32)
        /// A pipe, whose other end this process has.
        case pipe
        /// For stderr: that of stdout.
        case output
    }

    /// A terminal's Ctrl-C reaches the processes of one group.
    public enum Group: Int32, Sendable {
        /// The process group of this process.
        case same
        /// One of its own.
        case own
        /// A session of its own: it goes on when this process ends, and when its terminal is closed.
        case session
    }

    /// The process id, which may belong to another process after the end.
    public let id: Int32
    /// The ends of the pipes, to be closed by the caller.
    public let input: Int32?
    public let output: Int32?
    public let errors: Int32?
    private static let unknownEnd: Int32 = 255
    /// The exit code, or 128 + signal; nil while it runs.
    private let end: Monitor<Int32?>

    /// Starts a program.
    /// - Parameters:
    ///   - program: a path, or a name to be found in this process's PATH.
    ///   - environment: all of its variables.
    /// - Throws: if it cannot be executed, or if no descriptor or thread is left.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String], input: Stream = .null,
        output: Stream = .null, errors: Stream = .null, group: Group = .own
    ) throws(Failure) {
        var pipes: [AnonymousPipe?] = []
        var ends: [Int32] = []
        do throws(Failure) {
            for (number, stream) in [input, output, errors].enumerated() {
                let pipe: AnonymousPipe? = if case .pipe = stream { try AnonymousPipe() } else { nil }
                pipes.append(pipe)
                switch stream {
                case .null: ends.append(-1)
                case .descriptor(let descriptor): ends.append(descriptor)
                case .output: ends.append(ends.last ?? -1)
                case .pipe: ends.append(pipe.map { number == 0 ? $0.read : $0.write } ?? -1)
                }
            }
        } catch {
            for pipe in pipes.compactMap(\.self) { pipe.close() }
            throw error
        }
        // First of all, as a program that nobody reaps would stay.
        let (started, end) = (Monitor<pid_t?>(nil), Monitor<Int32?>(nil))
        do throws(NamedThread.Failure) {
            _ = try NamedThread.start("subprocess") {
                let id = started.wait { $0 }
                if id > 0 { Self.reap(id, end) }
            }
        } catch {
            for pipe in pipes.compactMap(\.self) { pipe.close() }
            throw Failure(code: error.code)
        }
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        var id: pid_t = 0
        let code = clinux_spawn_program(&id, program, words, variables, ends, group.rawValue)
        for text in words + variables { free(text) }
        started.change { $0 = code == 0 ? id : 0 }
        guard code == 0 else {
            for pipe in pipes.compactMap(\.self) { pipe.close() }
            throw Failure(code: code)
        }
        for (number, pipe) in pipes.enumerated() {
            if let pipe { close(number == 0 ? pipe.read : pipe.write) }
        }
        self.id = id
        self.input = pipes[0]?.write
        self.output = pipes[1]?.read
        self.errors = pipes[2]?.read
        self.end = end
    }

    public var isRunning: Bool { end.with { $0 == nil } }

    /// Blocks until it has ended.
    /// - Returns: its exit code, or 128 + signal.
    @discardableResult
    public func wait() -> Int32 { end.wait { $0 } }

    /// Sends it a signal. Does nothing after its end.
    public func send(_ signal: Int32) { whileRunning { _ = kill($0, signal) } }

    /// Calls `body` with the process id, which does not belong to another process meanwhile. Does nothing after its
    /// end.
    public func whileRunning(_ body: (Int32) -> Void) {
        // Under the lock, as it is reaped under it.
        end.with { if $0 == nil { body(id) } }
    }

    private static func reap(_ id: pid_t, _ end: Monitor<Int32?>) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        end.change { end in
            var status: Int32 = 0
            var reaped = waitpid(id, &status, 0)
            while reaped < 0, errno == EINTR { reaped = waitpid(id, &status, 0) }
            // The kernel reaps it itself in a process that ignores SIGCHLD, and tells nothing of its end.
            guard reaped == id else { return end = unknownEnd }
            end = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }
    }
}
