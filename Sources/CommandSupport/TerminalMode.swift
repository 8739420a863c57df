import Glibc
import Synchronization

/// Switches the terminal on stdin to single keys: no canonical mode and no echo. Signal keys (Ctrl-C, Ctrl-Z) stay
/// active.
///
/// The original mode is restored at every end of the process except SIGKILL: at `exit`, which Ctrl-\ leads to, too, and
/// at crashes.
package enum TerminalMode {
    // SAFETY: written once, before `isKept` is set; read after that only.
    nonisolated(unsafe) private static let original = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private static let isKept = Atomic<Bool>(false)
    private static let isRaw = Atomic<Bool>(false)
    /// The process ends, so that the mode is not changed any more.
    private static let isOver = Atomic<Bool>(false)
    /// The previous actions of the handled signals, by number.
    // SAFETY: written once, before the handlers are installed.
    nonisolated(unsafe) private static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 32)

    /// A background process may neither change the terminal's mode nor read from it.
    package static var isForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Whether stdin is the terminal that the process is controlled by.
    package static var isPossible: Bool { tcgetpgrp(STDIN_FILENO) != -1 }

    /// Whether `enter` was called since the process came to the foreground.
    package static var isEntered: Bool { isRaw.load(ordering: .acquiring) }

    /// Has the kernel answer a read in the background with an error: it would stop the process silently otherwise.
    package static func ignoreStops() {
        signal(SIGTTIN, SIG_IGN)
        signal(SIGTTOU, SIG_IGN)
    }

    /// Switches to single keys and discards unread input. May be called again.
    /// - Returns: false in the background, and without a terminal.
    /// - Isolation: one thread at a time.
    @discardableResult
    package static func enter() -> Bool {
        guard isForeground else {
            forget()
            return false
        }
        guard !isOver.load(ordering: .acquiring) else { return false }
        if !isKept.load(ordering: .acquiring) {
            guard tcgetattr(STDIN_FILENO, original) == 0 else { return false }
            isKept.store(true, ordering: .releasing)
            restoreAtEveryEnd()
        }
        var mode = original.pointee
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        mode.c_lflag |= tcflag_t(ISIG)
        withUnsafeMutableBytes(of: &mode.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        isRaw.store(true, ordering: .releasing)
        return tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) == 0
    }

    /// Notes that the shell has the terminal, in the mode that it wants.
    package static func forget() { isRaw.store(false, ordering: .releasing) }

    /// Restores the original mode. Async-signal-safe; may be called more than once.
    package static func restore() {
        guard isRaw.exchange(false, ordering: .acquiringAndReleasing), isForeground else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, original)
    }

    private static func restoreAtEveryEnd() {
        ignoreStops()
        atexit {
            TerminalMode.isOver.store(true, ordering: .releasing)
            TerminalMode.restore()
        }
        for number in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            var action = sigaction()
            action.sa_flags = Int32(SA_ONSTACK)
            action.__sigaction_handler.sa_handler = { number in
                TerminalMode.restore()
                // The previous action is taken when this handler returns.
                sigaction(number, TerminalMode.previous + Int(number), nil)
                raise(number)
            }
            sigaction(number, &action, previous + Int(number))
        }
    }
}
