import Glibc

/// The file descriptors that this process may have (RLIMIT_NOFILE).
///
/// GLib ends the process when it gets no descriptor for a context, so requests of other peers must not use them up.
public enum FileDescriptors {
    /// The highest limit to set. More descriptors are of no use here, and some libraries iterate over all numbers below
    /// the limit.
    static let ceiling = 65_536

    /// Raises the soft limit to the hard one. Call it once at the start of a command that serves for long; child
    /// processes inherit the limit.
    public static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, rlim_t(ceiling))
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The soft limit.
    package static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of open descriptors; nil if /proc does not tell.
    package static var open: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            // Names are numbers, except "." and "..".
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // The descriptor of the directory itself does not count.
        return count - 1
    }
}

/// The shares of a host's parts in the file descriptors. All of them together never reach the limit.
package struct DescriptorPlan: Equatable {
    /// Connections to the HTTPS server.
    package var connections: Int
    /// All ICE agents together.
    package var agents: Int
    /// Everything else: devices, files, look-ups, connections to TURN servers.
    package var reserve: Int

    /// - Parameters:
    ///   - limit: the process's limit.
    ///   - used: the number of descriptors that are already open.
    init(limit: Int, used: Int) {
        reserve = min(64, limit / 4)
        let free = max(0, limit - used - reserve)
        connections = min(512, max(8, free / 2))
        agents = max(0, free - connections)
    }

    /// - Parameter sharesPort: the peers share a UDP port, so the agents need few descriptors.
    package func connections(sharesPort: Bool) -> Int { sharesPort ? connections + agents / 2 : connections }

    package static var ofThisProcess: DescriptorPlan {
        DescriptorPlan(limit: FileDescriptors.limit, used: FileDescriptors.open ?? 64)
    }
}
