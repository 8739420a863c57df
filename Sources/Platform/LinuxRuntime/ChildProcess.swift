internal import CLinux
internal import Glibc

/// A program that this process has started; in a process group of its own, unless it reads the terminal.
///
/// It and all that it has started end with this process, however that ends: a supervisor, a process of its own, adopts
/// what has left the group or was forked twice (PR_SET_CHILD_SUBREAPER). One that reads the terminal has none; the
/// kernel ends it with the thread that started it. Confined to that thread.
public struct ChildProcess: ~Copyable {
    public enum End: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }
    /// The program cannot be executed (an errno).
    public struct Failure: Error, Equatable {
        public let code: Int32
    }

    public let id: Int32
    /// Readable when the process has ended: the connection to the supervisor, or a pidfd (pidfd_open(2)). Closed with
    /// the value.
    public let descriptor: Int32
    /// The process of the supervisor; nil without one.
    private let supervisor: Int32?

    /// - Parameters:
    ///   - path: absolute.
    ///   - arguments: without the program's own name.
    ///   - environment: `NAME=VALUE` each.
    ///   - socket: becomes descriptor 3 of the program; no other one is passed on beside stdin, stdout and stderr.
    ///     stdout is this process's stderr.
    ///   - takesInput: whether it reads this process's stdin; otherwise /dev/null.
    public init(
        _ path: String, _ arguments: [String], environment: [String], socket: Int32, takesInput: Bool
    ) throws(Failure) {
        var (control, program): (Int32, pid_t) = (-1, 0)
        let (child, code) = Self.withPointers([path] + arguments) { arguments in
            Self.withPointers(environment) { environment -> (pid_t, Int32) in
                let child =
                    takesInput
                    ? clinux_spawn(path, arguments, environment, socket, 1)
                    : clinux_spawn_supervised(path, arguments, environment, socket, &control, &program)
                return (child, errno)
            }
        }
        guard child > 0 else { throw Failure(code: code) }
        guard takesInput else {
            self.init(id: program, descriptor: control, supervisor: child)
            return
        }
        let descriptor = clinux_pidfd(child)
        guard descriptor >= 0 else {
            let code = errno
            _ = Glibc.kill(child, SIGKILL)
            waitpid(child, nil, 0)
            throw Failure(code: code)
        }
        self.init(id: child, descriptor: descriptor, supervisor: nil)
    }

    private init(id: Int32, descriptor: Int32, supervisor: Int32?) {
        self.id = id
        self.descriptor = descriptor
        self.supervisor = supervisor
    }

    deinit { close(descriptor) }

    private static func withPointers<R>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        let copies = texts.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { body($0.baseAddress!) }
    }

    /// Asks the program and those that it has started to end (SIGTERM).
    public func terminate() { signal(SIGTERM, "T") }

    /// Ends the program and those that it has started (SIGKILL).
    public func kill() { signal(SIGKILL, "K") }

    /// - Parameter command: the same for the supervisor.
    private func signal(_ number: Int32, _ command: Unicode.Scalar) {
        guard supervisor != nil else {
            _ = Glibc.kill(id, number)
            return
        }
        var byte = UInt8(ascii: command)
        _ = send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Takes the end of the program, if it and all that it has started have ended. Call it until it returns one; the
    /// number may belong to another process afterwards.
    public func takeEnd() -> End? {
        var status: Int32 = 0
        if let supervisor {
            let end = clinux_take_end(descriptor, &status)
            guard end != 0 else { return nil }
            _ = waitpid(supervisor, nil, 0)
            // The kernel has ended the program with its supervisor.
            guard end > 0 else { return .signalled(SIGKILL) }
        } else {
            guard waitpid(id, &status, WNOHANG) == id else { return nil }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// The memory that belongs to the program alone, in bytes: anonymous pages, also those on swap, and shared ones
    /// beyond `shared` (proc(5), status). Nil when it has ended.
    public func privateMemory(except shared: Int) -> Int? {
        guard let file = fopen("/proc/\(id)/status", "r") else { return nil }
        defer { fclose(file) }
        var values: [String: Int] = [:]
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let parts = text.split { $0 == ":" || $0 == " " || $0 == "\t" }
            guard parts.count > 1, let kilobytes = Int(parts[1]) else { continue }
            values[String(parts[0])] = kilobytes * 1_024
        }
        guard let anonymous = values["RssAnon"] else { return nil }
        return anonymous + (values["VmSwap"] ?? 0) + max((values["RssShmem"] ?? 0) - shared, 0)
    }
}
