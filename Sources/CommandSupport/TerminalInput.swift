import Glibc
import Host
import LinuxRuntime

/// The input of one read.
package enum KeyPress: Equatable, Sendable {
    /// One byte of ASCII, with no other input within 30 ms.
    case key(UInt8)
    /// Other input: pasted text, what is typed fast, an escape sequence such as an arrow key's, or a character beyond
    /// ASCII.
    case text([UInt8])
}

/// Reads keys from the terminal on a thread of its own, from `start` until the process ends. In the background it
/// leaves the terminal alone.
package enum TerminalInput {
    /// How often a process in the background looks whether it has come to the foreground: a shell's `fg` sends no
    /// signal to a job that runs.
    private static let backgroundInterval: useconds_t = 200_000
    private static let wakeUp = try? AnonymousPipe()

    /// - Parameters:
    ///   - onForeground: called on the thread `terminal` when the process is in the foreground and `TerminalMode` was
    ///     not entered there.
    ///   - onKey: called on that thread, with the instant at which the key was read.
    package static func start(
        onForeground: @escaping @Sendable () -> Void,
        onKey: @escaping @Sendable (KeyPress, ContinuousClock.Instant) -> Void
    ) {
        TerminalMode.ignoreStops()
        _ = NamedThread("terminal") {
            var bytes = [UInt8](repeating: 0, count: 256)
            while true {
                guard TerminalMode.isForeground else {
                    TerminalMode.forget()
                    usleep(backgroundInterval)
                    continue
                }
                if !TerminalMode.isEntered { onForeground() }
                guard waitForInput(), TerminalMode.isForeground else { continue }
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                if count < 0, errno == EINTR { continue }
                // The terminal has hung up, or another program reads from it at the moment.
                guard count > 0 else {
                    usleep(500_000)
                    continue
                }
                let instant = ContinuousClock.now
                let isAlone = count == 1 && bytes[0] < 128 && !hasInput(within: 30)
                onKey(isAlone ? .key(bytes[0]) : .text(Array(bytes[..<count])), instant)
            }
        }
    }

    /// Has the thread look again whether the process is in the foreground. Call it when the process continues after a
    /// stop.
    package static func recheck() {
        guard let wakeUp else { return }
        var byte: UInt8 = 0
        _ = write(wakeUp.write, &byte, 1)
    }

    /// Waits for input, or for `recheck`. Returns whether there is input.
    private static func waitForInput() -> Bool {
        var watched = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp?.read ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&watched, nfds_t(watched.count), -1) > 0 else { return false }
        if watched[1].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 64)
            _ = read(watched[1].fd, &bytes, bytes.count)
        }
        return watched[0].revents != 0
    }

    private static func hasInput(within milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) > 0
    }
}
