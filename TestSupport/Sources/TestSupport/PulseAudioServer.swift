import Foundation
import Synchronization

/// A PulseAudio server for one test, without a card; its sink `screen` discards audio.
public final class PulseAudioServer: SoundServer, Sendable {
    public let address: String
    /// The environment that makes a program its client.
    public let environment: [String: String]
    private let folder: TemporaryFolder
    private let modules: [String]
    private let server = Mutex<Program?>(nil)

    /// - Parameter modules: additional modules of the server.
    public init(modules: [String] = []) throws {
        folder = try TemporaryFolder()
        let socket = folder.file("native")
        address = "unix:\(socket)"
        environment = ["PULSE_SERVER": address, "XDG_RUNTIME_DIR": folder.path, "HOME": folder.path]
        self.modules =
            [
                "module-native-protocol-unix auth-anonymous=1 socket=\(socket)", "module-null-sink sink_name=screen",
            ] + modules
        try start()
    }

    private func start() throws {
        let server = try Program(
            "pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=info",
                "--log-target=stderr",
            ] + modules.flatMap { ["-L", $0] },
            environment: [
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PULSE_RUNTIME_PATH": folder.path,
                "PULSE_STATE_PATH": folder.path, "XDG_CONFIG_HOME": folder.path,
            ])
        guard server.line(.error, seconds: 20, { $0.contains("Daemon startup complete") ? true : nil }) == true else {
            throw Program.Failure("pulseaudio did not start: \(server.text.errors)")
        }
        self.server.withLock { $0 = server }
    }

    // The server must end before its folder is removed.
    deinit { kill() }

    /// Kills the server, like a crash.
    public func kill() { server.withLock { $0?.kill() } }

    /// Starts a server at the same address after `kill`.
    public func restart() throws { try start() }

    public func file(_ name: String) -> String { folder.file(name) }
}
