import CommandSupport
import FoundationEssentials
import LinuxRuntime

/// Plays the examples Budget and Conference: installs the service, pairs, broadcasts, and keeps what Conference saw.
///
/// Both run as this user would run them, but with a folder of their own, so that nothing stays installed.
struct PairingDemo {
    let seconds: Double
    let snapshot: String

    private static let service = "com.example.conference"
    /// How long the programs may be silent, in seconds.
    private static let patience = 20.0

    func run() throws {
        let (budget, conference) = (try LabProgram.beside("Budget"), try LabProgram.beside("Conference"))
        try OutputFile.check(snapshot)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("share-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let stage = DemoStage()
        Signals.handle { _ in stage.close() }
        defer {
            stage.close()
            try? FileManager.default.removeItem(at: folder)
        }
        // Without Xvfb, the windows are drawn all the same, and nobody sees them.
        let driver = stage.openDisplay() == nil ? "dummy" : "x11"
        let own = ["SDL_VIDEODRIVER": driver, "XDG_DATA_HOME": folder.path]
        let environment = stage.environment.merging(own) { $1 }
        let service = try DemoChild(
            executable: conference, ["--accept", "any", "--listen", "127.0.0.1", "--snapshot", snapshot],
            environment: environment)
        stage.adopt(service)
        guard let link = service.readLine(seconds: Self.patience), link.hasPrefix("https://") else {
            throw CommandError(sentence: "Conference did not start: \(service.errorText)", status: .failed)
        }
        ErrorOutput.writeLine("share: Conference is a service: \(link)")
        let install = try DemoChild(["extension", "install", link], environment: environment)
        guard install.exitCode == 0 else {
            throw CommandError(sentence: "the service was not installed: \(install.errorText)", status: .failed)
        }
        let begin = ContinuousClock.now
        let app = try DemoChild(
            executable: budget, [Self.service, "--demo", "--title", "The household"], environment: environment)
        stage.adopt(app)
        ErrorOutput.writeLine("share: Budget pairs with Conference, which it names to its user ...")
        guard let line = service.readLine(seconds: Self.patience), line.hasPrefix("shows ") else {
            throw CommandError(
                sentence: "Conference saw nothing: \(app.errorText)\(service.errorText)", status: .failed)
        }
        let taken = Int((ContinuousClock.now - begin) / .milliseconds(1))
        ErrorOutput.writeLine("share: Conference \(line); \(Int(self.seconds.rounded(.up))) s ...")
        _ = waitForEnd(Monitor(nil), seconds: self.seconds)
        // Budget says good-bye first, so that Conference keeps its last frame.
        app.end()
        service.end()
        print("first frame    \(taken) ms after the start of Budget, pairing included")
        print("picture        \(snapshot): what Conference saw, without the number of the account")
    }
}
