import CommandSupport
import Glibc
import HTTP
import LinuxRuntime
import MediaCore
import ShareKit
import Signaling
import Synchronization
import Viewer

/// Sends the lines that are typed in a viewer's terminal as comments, and asks the host for the right if it has to.
final class CommentReader: Sendable {
    private struct State {
        var right = RightState.no
        /// The line that waits for the host's answer.
        var waiting: String?
        var isOver = false
    }

    private let viewer: PeerViewer
    private let state = Mutex(State())

    /// Nil without a terminal to type in.
    init?(_ viewer: PeerViewer, isEnabled: Bool) {
        guard isEnabled, isatty(STDIN_FILENO) == 1 else { return nil }
        self.viewer = viewer
    }

    func start() { _ = NamedThread("comments") { [self] in run() } }

    func close() { state.withLock { $0.isOver = true } }

    /// The host may have said what this viewer may do.
    func note(_ event: ViewerSessionEvent) {
        guard case .hostEvent(.rights(let rights)) = event else { return }
        let (waiting, isTakenBack) = state.withLock { state in
            defer { (state.right, state.waiting) = (rights.rights.comment, nil) }
            return (state.waiting, state.right == .yes && rights.rights.comment != .yes)
        }
        if isTakenBack { ErrorOutput.writeLine("share: the host takes no comments of yours any more") }
        guard let waiting else { return }
        if rights.rights.comment == .yes { return say(waiting) }
        ErrorOutput.writeLine("share: the host did not allow you to write comments")
    }

    private func run() {
        var input = [UInt8]()
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while !state.withLock({ $0.isOver }) {
            // A background process that reads its terminal is stopped.
            var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 250) > 0 else { continue }
            guard TerminalMode.isForeground else {
                usleep(250_000)
                continue
            }
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count > 0 else { return }
            input += buffer[..<count]
            while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                typed(String(decoding: input[..<end], as: UTF8.self))
                input.removeSubrange(...end)
            }
        }
    }

    private func typed(_ line: String) {
        guard line.contains(where: { !$0.isWhitespace }) else { return }
        let right = state.withLock { state in
            if state.right == .ask { state.waiting = line }
            return state.right
        }
        switch right {
        case .yes: say(line)
        case .ask:
            ErrorOutput.writeLine("share: the host is asked whether you may write comments")
            viewer.tell(.ask(.comment))
        case .no: ErrorOutput.writeLine("share: the host takes no comments of yours")
        }
    }

    private func say(_ line: String) { viewer.tell(.comment(line)) }
}
