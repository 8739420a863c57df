internal import CLinux
internal import Glibc

/// A variable in the environment of a program, which the processes that it starts inherit. They are found by it even if
/// they have left the program's process group and outlive it. A process that gives its children another environment
/// hides them.
///
/// The value is `PROCESS.TIME.NUMBER`: this process, when it started (proc(5), stat, field 22), and a count.
public struct ProcessMark: Sendable {
    private let name: String
    private let owner: String
    private let number: Int

    /// `NAME=VALUE`, for the program's environment.
    public var text: String { "\(name)=\(owner).\(number)" }

    /// - Parameter number: tells the marks of this process apart.
    public init(_ name: String, number: Int) {
        self.name = name
        self.number = number
        let process = getpid()
        owner = "\(process).\(Self.startTime(of: process) ?? "0")"
    }

    /// Ends the processes with this mark (SIGKILL), and those that they start meanwhile.
    public func endProcesses() {
        let text = text
        // Each pass may find what the last one found starting; more of them find a program that does nothing else.
        for _ in 0..<8 {
            let hasEnded = Self.end { $0 == text }
            if !hasEnded { return }
        }
    }

    /// Ends the processes with a mark of this name whose owner has gone: it has crashed, or was killed.
    public static func endOrphans(_ name: String) {
        let prefix = name + "="
        _ = end { mark in
            guard mark.hasPrefix(prefix) else { return false }
            let parts = mark.dropFirst(prefix.count).split(separator: ".")
            guard parts.count == 3, let owner = pid_t(parts[0]) else { return false }
            return startTime(of: owner) != String(parts[1])
        }
    }

    /// - Parameter isMeant: gets each variable of a process's environment.
    /// - Returns: whether there was such a process.
    private static func end(_ isMeant: (String) -> Bool) -> Bool {
        guard let folder = opendir("/proc") else { return false }
        defer { closedir(folder) }
        var hasEnded = false
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let process = pid_t(name), process != getpid(), environment(of: process).contains(where: isMeant)
            else { continue }
            let descriptor = clinux_pidfd(process)
            guard descriptor >= 0 else { continue }
            // The number may belong to another process since.
            if environment(of: process).contains(where: isMeant) {
                hasEnded = clinux_pidfd_kill(descriptor) == 0 || hasEnded
            }
            close(descriptor)
        }
        return hasEnded
    }

    /// The environment with which a process of this user was started; empty for a zombie and for those of others.
    private static func environment(of process: pid_t) -> [String] {
        read("/proc/\(process)/environ").split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func startTime(of process: pid_t) -> String? {
        // The name of the program, in brackets, may hold anything.
        let fields = read("/proc/\(process)/stat").split(separator: UInt8(ascii: ")")).last?
            .split(separator: UInt8(ascii: " "))
        guard let fields, fields.count > 19 else { return nil }
        return String(decoding: fields[19], as: UTF8.self)
    }

    private static func read(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
