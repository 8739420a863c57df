import Foundation

/// A PulseAudio server for one test, without a card; its sink `screen` discards audio.
public final class PulseAudioServer: Sendable {
    public let address: String
    /// The environment that makes a program its client.
    public let environment: [String: String]
    private let folder: TemporaryFolder
    private let server: Program

    /// - Parameter modules: additional modules of the server.
    public init(modules: [String] = []) throws {
        folder = try TemporaryFolder()
        let socket = folder.file("native")
        address = "unix:\(socket)"
        environment = ["PULSE_SERVER": address, "XDG_RUNTIME_DIR": folder.path, "HOME": folder.path]
        let all =
            [
                "module-native-protocol-unix auth-anonymous=1 socket=\(socket)", "module-null-sink sink_name=screen",
            ] + modules
        server = try Program(
            "pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=info",
                "--log-target=stderr",
            ] + all.flatMap { ["-L", $0] },
            environment: [
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PULSE_RUNTIME_PATH": folder.path,
                "PULSE_STATE_PATH": folder.path, "XDG_CONFIG_HOME": folder.path,
            ])
        guard server.line(.error, seconds: 20, { $0.contains("Daemon startup complete") ? true : nil }) == true else {
            throw Program.Failure("pulseaudio did not start: \(server.text.errors)")
        }
    }

    // The server must end before its folder is removed.
    deinit { kill() }

    /// Kills the server, like a crash.
    public func kill() { server.kill() }

    /// Runs `pactl` to its end.
    public func control(_ arguments: String...) throws {
        try Program("pactl", ["--server", address] + arguments).finish()
    }

    /// Plays a tone to a sink in real time.
    /// - Parameter hertz: a whole number, so that all seconds are alike.
    public func playTone(_ hertz: Int, seconds: Double, sink: String = "screen") throws -> Program {
        let second = (0..<48_000).flatMap { frame -> [Int16] in
            let value = Int16(12_000 * sin(2 * Double.pi * Double(hertz * frame) / 48_000))
            return [value, value]
        }
        let bytes = second.withUnsafeBytes { Data($0) }
        let length = Int(48_000 * seconds) * 4
        var samples = Data()
        while samples.count < length { samples += bytes.prefix(length - samples.count) }
        let file = folder.file("tone-\(UUID().uuidString)")
        try samples.write(to: URL(fileURLWithPath: file))
        return try Program(
            "pacat",
            [
                "--playback", "--raw", "--format=s16le", "--rate=48000", "--channels=2", "--latency-msec=20",
                "--server", address, "--device", sink, file,
            ])
    }
}
