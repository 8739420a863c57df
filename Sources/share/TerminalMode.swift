import Foundation
import Synchronization

/// The terminal on stdin as keys instead of lines: no canonical mode and no echo, but with its signals (Ctrl-C, Ctrl-Z).
///
/// The terminal gets its own mode back at every end of the process but SIGKILL: `exit`, Ctrl-\ and crashes included.
enum TerminalMode {
    // SAFETY: written once, before `isKept` is set; read after that only.
    nonisolated(unsafe) private static let original = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private static let isKept = Atomic<Bool>(false)
    private static let isRaw = Atomic<Bool>(false)
    /// What these signals did before, by number.
    // SAFETY: written once, before the handlers are installed.
    nonisolated(unsafe) private static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 32)

    /// A background process may neither change the terminal's mode nor read from it.
    static var isForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Discards what was typed and not read yet, and gives keys from now on. May be called again.
    /// - Returns: false in the background, and without a terminal.
    /// - Isolation: one thread at a time.
    @discardableResult
    static func enter() -> Bool {
        guard isForeground else { return false }
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

    /// Gives the terminal its own mode back. Async-signal-safe; may be called twice.
    static func restore() {
        guard isRaw.exchange(false, ordering: .acquiringAndReleasing), isForeground else { return }
        tcsetattr(STDIN_FILENO, TCSANOW, original)
    }

    private static func restoreAtEveryEnd() {
        // A background process that touches the terminal would be stopped otherwise, without a word.
        signal(SIGTTIN, SIG_IGN)
        signal(SIGTTOU, SIG_IGN)
        atexit { TerminalMode.restore() }
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
            var action = sigaction()
            action.sa_flags = Int32(SA_ONSTACK)
            action.__sigaction_handler.sa_handler = { number in
                TerminalMode.restore()
                // Then what would have happened without us, once this handler returns.
                sigaction(number, TerminalMode.previous + Int(number), nil)
                raise(number)
            }
            sigaction(number, &action, previous + Int(number))
        }
    }
}
