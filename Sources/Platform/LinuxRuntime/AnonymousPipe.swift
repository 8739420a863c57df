internal import CLinux
internal import Glibc

/// A pipe without a name. No program that is started on any thread inherits its ends, unless it is given them (`pipe2`
/// with O_CLOEXEC).
public struct AnonymousPipe: Sendable {
    /// To be closed by the caller, as `write`.
    public let read: Int32
    public let write: Int32

    /// - Throws: the code in `errno`, such as EMFILE.
    public init() throws(Subprocess.Failure) {
        var ends: [Int32] = [-1, -1]
        guard clinux_pipe(&ends) == 0 else { throw Subprocess.Failure(code: errno) }
        (read, write) = (ends[0], ends[1])
    }

    /// Closes both ends.
    func close() {
        _ = Glibc.close(read)
        _ = Glibc.close(write)
    }
}
