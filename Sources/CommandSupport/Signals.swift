import Glibc
import Host
import LinuxRuntime
import Synchronization

/// Handles SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP and SIGCONT on a thread of its own. A second SIGINT, SIGQUIT,
/// SIGTERM or SIGHUP exits the process at once; the third one does where the second ends a drain.
package enum Signals {
    /// The write end of a pipe. The signal handler writes the signal's number to it.
    private static let pipe = Atomic<Int32>(-1)

    private struct Suspension {
        var suspends: @Sendable () -> Void = {}
        var resumed: @Sendable () -> Void = {}
    }

    private static let suspension = Mutex(Suspension())

    /// Calls `suspends` before Ctrl-Z stops the process, and `resumed` when it continues after any stop. Both are
    /// called on the thread `signals`. Call after `handle`.
    package static func onSuspension(
        _ suspends: @escaping @Sendable () -> Void, resumed: @escaping @Sendable () -> Void
    ) {
        suspension.withLock { $0 = Suspension(suspends: suspends, resumed: resumed) }
        install(SIGCONT)
        // An ignored SIGTSTP stays ignored: the parent process has no job control.
        if !StandardStreams.isIgnored(SIGTSTP) { install(SIGTSTP) }
    }

    private static func install(_ number: Int32) {
        signal(number) { number in
            let errorNumber = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(Signals.pipe.load(ordering: .acquiring), &byte, 1)
            errno = errorNumber
        }
    }

    /// Stops the process with the default action of SIGTSTP. The kernel does not stop an orphaned process group.
    private static func suspend() {
        suspension.withLock { $0 }.suspends()
        signal(SIGCONT, SIG_DFL)
        signal(SIGTSTP, SIG_DFL)
        // `raise` sends the signal to this thread; the kernel stops all threads before the call returns.
        raise(SIGTSTP)
        install(SIGTSTP)
        install(SIGCONT)
        suspension.withLock { $0 }.resumed()
    }

    private static func name(of number: Int32) -> String {
        switch number {
        case SIGINT: "Ctrl-C"
        case SIGQUIT: "Ctrl-\\"
        case SIGTERM: "SIGTERM"
        default: "SIGHUP"
        }
    }

    /// - Parameters:
    ///   - again: called at the second signal; nil: it exits the process.
    ///   - body: called at the first signal. Both are called on the thread `signals`.
    package static func handle(
        again: (@Sendable (_ name: String) -> Void)? = nil, _ body: @escaping @Sendable (_ name: String) -> Void
    ) {
        signal(SIGPIPE, SIG_IGN)
        // The parent process may have blocked these signals, and child processes would inherit that.
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT] { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        guard let ends = try? AnonymousPipe() else { return }
        pipe.store(ends.write, ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] { install(number) }
        // Shells ignore it for background processes.
        if !StandardStreams.isIgnored(SIGQUIT) { install(SIGQUIT) }
        let source = ends.read
        _ = NamedThread("signals") {
            var ended = 0
            while true {
                var byte: UInt8 = 0
                let count = read(source, &byte, 1)
                if count == -1, errno == EINTR { continue }
                guard count == 1 else { return }
                switch Int32(byte) {
                case SIGTSTP:
                    suspend()
                    continue
                case SIGCONT:
                    suspension.withLock { $0 }.resumed()
                    continue
                default: break
                }
                ended += 1
                switch (ended, again) {
                case (1, _): body(name(of: Int32(byte)))
                case (2, let again?): again(name(of: Int32(byte)))
                default: exit(128 + Int32(byte))
                }
            }
        }
    }
}
