import Glibc
import Synchronization

/// The descriptors 0, 1 and 2, and what becomes of output that cannot be written.
package enum StandardStreams {
    /// The error number of the first output that was lost; 0 for none. A reader that has closed its pipe is none.
    private static let lost = Atomic<Int32>(0)

    /// Call first in a program. Opens /dev/null in the place of a closed descriptor, so that no socket or file gets its
    /// number: stdin is then empty, and what is written to stdout fails. Ctrl-\\ ends the process again, as the handler
    /// of Swift's runtime prints a crash. A process whose output is lost exits with 73 instead of 0.
    package static func prepare() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            _ = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
        if !isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
        on_exit({ status, _ in StandardStreams.finish(status) }, nil)
    }

    /// Whether the parent process has this signal ignored.
    package static func isIgnored(_ number: Int32) -> Bool {
        var current = sigaction()
        sigaction(number, nil, &current)
        let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
        return unsafeBitCast(current.__sigaction_handler.sa_handler, to: Int.self) == ignored
    }

    /// Says once that output for programs is lost.
    /// - Parameter number: why, as in `errno`.
    static func noteLoss(_ number: Int32) {
        guard number != EPIPE, lost.compareExchange(expected: 0, desired: number, ordering: .relaxed).exchanged else {
            return
        }
        ErrorOutput.writeLine("share: stdout cannot be written: \(String(cString: strerror(number)))")
    }

    private static func finish(_ status: Int32) {
        if fflush(nil) != 0 { noteLoss(errno) }
        if status == 0, lost.load(ordering: .relaxed) != 0 { _exit(ExitStatus.cannotWrite.rawValue) }
    }
}
