internal import CLinux

/// The address space of other processes.
public enum AddressSpace {
    /// Limits that of a child process and of what it starts, in bytes (RLIMIT_AS), never to more than it has.
    public static func limit(_ process: Int32, to bytes: Int) {
        clinux_limit_memory(process, UInt64(max(bytes, 0)))
    }
}
