import Foundation
import Host
import LinuxRuntime

/// The input of one read.
package enum KeyPress: Equatable, Sendable {
    /// One byte of ASCII, with no other input within 30 ms.
    case key(UInt8)
    /// Pasted text, an escape sequence such as an arrow key's, or a character beyond ASCII.
    case other
}

/// Reads keys from the terminal on a thread of its own, from `start` until the process ends.
package enum TerminalInput {
    /// - Parameter onKey: called on the thread `terminal`, with the instant at which the key was read.
    package static func start(_ onKey: @escaping @Sendable (KeyPress, ContinuousClock.Instant) -> Void) {
        _ = NamedThread("terminal") {
            var bytes = [UInt8](repeating: 0, count: 256)
            while true {
                guard wait(milliseconds: -1) else { continue }
                guard TerminalMode.isForeground else {
                    usleep(500_000)
                    continue
                }
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                if count < 0, errno == EINTR { continue }
                // The terminal has hung up, or another program reads from it at the moment.
                guard count > 0 else {
                    usleep(500_000)
                    continue
                }
                let instant = ContinuousClock.now
                let isAlone = count == 1 && bytes[0] < 128 && !wait(milliseconds: 30)
                onKey(isAlone ? .key(bytes[0]) : .other, instant)
            }
        }
    }

    /// Waits for input. Returns whether there is any.
    private static func wait(milliseconds: Int32) -> Bool {
        var watched = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, milliseconds) > 0
    }
}
