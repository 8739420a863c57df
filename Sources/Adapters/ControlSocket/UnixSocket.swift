import Glibc

/// System calls on Unix stream sockets.
enum UnixSocket {
    /// - Returns: a non-blocking socket, closed on exec; nil if there are no descriptors.
    static func open() -> Int32? {
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard file >= 0 else { return nil }
        setNonBlocking(file)
        return file
    }

    static func setNonBlocking(_ file: Int32) {
        _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }

    /// - Returns: false with errno; EAGAIN if too many wait to be accepted.
    static func connect(_ file: Int32, _ path: String) -> Bool {
        withAddress(of: path) { Glibc.connect(file, $0, $1) } == 0
    }

    static func bind(_ file: Int32, _ path: String) -> Bool {
        withAddress(of: path) { Glibc.bind(file, $0, $1) } == 0
    }

    private static func withAddress(
        of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count <= ControlSocketFolder.longestPath else {
            errno = ENAMETOOLONG
            return -1
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Whether the process at the other end runs as this user (SO_PEERCRED, unix(7)).
    static func isPeerThisUser(_ file: Int32) -> Bool {
        // struct ucred: process, user and group, of 32 bits each.
        var credentials: [UInt32] = [0, UInt32.max, UInt32.max]
        var length = socklen_t(MemoryLayout<UInt32>.stride * credentials.count)
        guard getsockopt(file, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0, length == 12 else { return false }
        return credentials[1] == geteuid()
    }
}
