import Foundation
import Glibc

/// The helper process. Used by one thread at a time.
final class NetlabProcess {
    private var identifier: pid_t = 0
    private let socket: Int32
    /// The user namespace of its networks; nil if it is root's.
    private(set) var userNamespace: String?
    private var unread: [UInt8] = []

    init() throws {
        let program = try Self.program()
        // Marked close-on-exec from the start: copies in other child processes would keep the helper alive.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw BedFailure("no pair of sockets: \(errno)") }
        socket = ends[0]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // A Ctrl-C in the terminal must not remove the networks before the programs that use them end.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var environment = ProcessInfo.processInfo.environment
        // The directory of ip and nft, which is missing in some users' PATH.
        environment["PATH"] = (environment["PATH"] ?? "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        var arguments = [strdup(program), nil]
        var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        let result = posix_spawn(&identifier, program, &actions, &attributes, &arguments, &variables)
        Glibc.close(ends[1])
        guard result == 0 else { throw BedFailure("\(program): \(String(cString: strerror(result)))") }
        let user = try answer()
        userNamespace = user.isEmpty ? nil : user
    }

    deinit {
        Glibc.close(socket)
    }

    /// Ends the helper and waits for its end. No command may follow.
    func close() {
        kill(identifier, SIGTERM)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
    }

    /// The helper's path, beside the running program.
    private static func program() throws -> String {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
        let folders = [folder] + bundles.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let candidates = folders.map { $0.appendingPathComponent("netlab").path }
        guard let path = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw BedFailure("netlab was not built: it is not among \(candidates)")
        }
        return path
    }

    /// - Returns: the helper's response after "ok".
    func command(_ words: String) throws -> String {
        let line = Array((words + "\n").utf8)
        guard write(socket, line, line.count) == line.count else { throw BedFailure("\(words): netlab has ended") }
        do {
            return try answer()
        } catch let failure as BedFailure {
            throw BedFailure("\(words): \(failure.description)")
        }
    }

    /// - Returns: the file descriptor in the response, owned by the caller.
    func file(_ words: String) throws -> Int32 {
        let line = Array((words + "\n").utf8)
        guard write(socket, line, line.count) == line.count else { throw BedFailure("\(words): netlab has ended") }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        // A header (length, level, type) and one file descriptor, laid out as in cmsg(3).
        var control = [Int](repeating: 0, count: 3)
        let count = bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    while true {
                        let count = recvmsg(socket, &message, 0)
                        if count >= 0 || errno != EINTR { return count }
                    }
                }
            }
        }
        guard count > 0 else { throw BedFailure("\(words): netlab has ended") }
        let hasFile = control.withUnsafeBytes { $0.load(as: cmsghdr.self).cmsg_type == Int32(SCM_RIGHTS) }
        guard hasFile else {
            unread += bytes[..<count]
            throw BedFailure("\(words): \(try answer())")
        }
        let file = control.withUnsafeBytes { $0.load(fromByteOffset: 16, as: Int32.self) }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        return file
    }

    private func answer() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            if let end = unread.firstIndex(of: 10) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeSubrange(...end)
                guard line == "ok" || line.hasPrefix("ok ") else { throw BedFailure(line) }
                return String(line.dropFirst(3))
            }
            let count = read(socket, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BedFailure("netlab has ended") }
            unread += buffer[..<count]
        }
    }
}
