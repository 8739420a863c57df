import CommandSupport
import LinuxRuntime
import Synchronization

/// The screen that the demo shares: a virtual display with its processes, or the test video.
final class DemoStage: @unchecked Sendable {
    // SAFETY: `children` is in a Mutex; the rest is set once, in `open`.
    private(set) var hostArguments: [String] = []
    /// The environment for programs on the display.
    private(set) var environment: [String: String] = [:]
    private(set) var words = ""
    private let children = Mutex<[DemoChild]>([])

    /// Starts a virtual display (Xvfb) with a desktop. The display of the window is never shared, because the window
    /// would show itself.
    func open() throws {
        guard let name = openDisplay() else {
            hostArguments = ["--source", "test"]
            words = "the test video (Xvfb is not installed)"
            return
        }
        hostArguments = ["--display", name, "--audio", "none"]
        words = "a virtual display with a desktop"
        adopt(try DemoChild(executable: LabProgram.beside("share-lab"), ["paint"], environment: environment))
    }

    /// Starts a virtual display.
    /// - Returns: its name; nil without Xvfb.
    func openDisplay() -> String? {
        guard
            let server = try? DemoChild(
                executable: "Xvfb", ["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp"]),
            let number = server.readLine(), !number.isEmpty
        else { return nil }
        adopt(server)
        environment = ["DISPLAY": ":\(number)"]
        return ":\(number)"
    }

    /// Starts a NATS server on loopback.
    /// - Returns: its URL.
    func openMessaging() throws -> String {
        let missing = CommandError(
            sentence: "nats-server did not start", remedy: "On Debian: apt install nats-server", status: .failed)
        let arguments = ["-a", "127.0.0.1", "-p", "-1"]
        guard let server = try? DemoChild(executable: "nats-server", arguments, mergesErrors: true) else {
            throw missing
        }
        adopt(server)
        while let line = server.readLine(seconds: 20) {
            guard let range = line.firstRange(of: "client connections on 127.0.0.1:") else { continue }
            return "nats://127.0.0.1:\(line[range.upperBound...])"
        }
        throw missing
    }

    func adopt(_ child: DemoChild) { children.withLock { $0.append(child) } }

    func close() {
        let all = children.withLock { children in
            defer { children = [] }
            return children
        }
        for child in all.reversed() { child.end() }
    }
}
