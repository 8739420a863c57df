import CommandSupport
import FoundationEssentials
import Glibc
import LinuxRuntime
import MediaCore
import Synchronization

/// A shell command of the user that is told of a broadcast, and not waited for. What it is told is in its environment
/// alone, as other users of the machine can read arguments.
struct UserCommand: Sendable {
    /// Such as "--on-live".
    let option: String
    let command: String

    /// Starts it. Its output goes to stderr, as stdout is for data.
    /// - Parameter values: variables of its environment.
    func run(_ values: [String: String]) {
        let environment = ProgramEnvironment.selected(of: ProcessInfo.processInfo.environment)
        do throws(Subprocess.Failure) {
            _ = try Subprocess(
                "/bin/sh", ["-c", command], environment: environment.merging(values) { $1 },
                output: .descriptor(STDERR_FILENO), errors: .descriptor(STDERR_FILENO))
        } catch {
            ErrorOutput.writeLine(
                "share: the command of \(option) cannot be started: \(String(cString: strerror(error.code)))")
        }
    }
}

/// Runs `--on-live` once, when the broadcast's link is known. Safe from any thread.
final class LiveCommand: Sendable {
    private let command: UserCommand?
    private let title: String
    private let hasRun = Mutex(false)

    /// - Parameter command: nil: nothing is run.
    init(_ command: String?, title: String) {
        self.command = command.map { UserCommand(option: "--on-live", command: $0) }
        self.title = title
    }

    func live(at url: String) {
        let isFirst = hasRun.withLock { $0.setOnce() }
        if isFirst { command?.run(["SHARE_URL": url, "SHARE_TITLE": title]) }
    }
}
