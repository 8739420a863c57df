import Foundation
import PeerRuntime
import Synchronization

/// Ctrl-C and friends as calls on a thread of their own. A second one ends the process at once.
enum Signals {
    /// The end of a pipe that the signal handler writes the signal's number to.
    private static let pipe = Atomic<Int32>(-1)

    static func handle(_ body: @escaping @Sendable (_ name: String) -> Void) {
        signal(SIGPIPE, SIG_IGN)
        // Who started us may have blocked them, and we would pass that on to our children.
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else { return }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        pipe.store(ends[1], ordering: .releasing)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number) { number in
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(Signals.pipe.load(ordering: .acquiring), &byte, 1)
            }
        }
        let source = ends[0]
        _ = NamedThread("signals") {
            var isEnding = false
            while true {
                var byte: UInt8 = 0
                let count = read(source, &byte, 1)
                if count == -1, errno == EINTR { continue }
                guard count == 1 else { return }
                if isEnding { exit(128 + Int32(byte)) }
                isEnding = true
                body(Int32(byte) == SIGINT ? "Ctrl-C" : Int32(byte) == SIGTERM ? "SIGTERM" : "SIGHUP")
            }
        }
    }
}
