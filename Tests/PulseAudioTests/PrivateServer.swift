import Foundation

/// A PulseAudio server of the test's own, with a sink `screen` that goes nowhere.
final class PrivateServer {
    private let process: Child
    private let log: Int32
    let folder: URL
    var address: String { "unix:\(folder.path)/native" }

    init(modules: [String] = []) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var arguments = [
            "pulseaudio", "-n", "--exit-idle-time=-1", "--use-pid-file=no", "--log-level=info", "--log-target=stderr",
        ]
        let all =
            [
                "module-native-protocol-unix auth-anonymous=1 socket=\(folder.path)/native",
                "module-null-sink sink_name=screen",
            ] + modules
        for module in all { arguments += ["-L", module] }
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        log = ends[0]
        process = try Child(
            arguments,
            environment: [
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PULSE_RUNTIME_PATH": folder.path,
                "PULSE_STATE_PATH": folder.path, "XDG_CONFIG_HOME": folder.path,
            ], errors: ends[1])
        close(ends[1])
        // The server says when it is ready. Info lines are few: the pipe does not fill up.
        var text = ""
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !text.contains("Daemon startup complete") {
            let count = read(log, &bytes, bytes.count)
            if count <= 0 { throw ServerDidNotStart(log: text) }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    struct ServerDidNotStart: Error { let log: String }

    func kill() { process.kill() }

    deinit {
        kill()
        close(log)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs a client of the server to its end.
    func control(_ arguments: String...) throws {
        try Child(["pactl", "--server", address] + arguments).wait()
    }

    /// Plays a tone to a sink in real time.
    func playTone(_ frequency: Double, seconds: Double, sink: String = "screen") throws -> Child {
        let file = folder.appendingPathComponent("tone-\(UUID().uuidString)")
        var samples: [Int16] = []
        for frame in 0..<Int(48_000 * seconds) {
            let value = Int16(12_000 * sin(2 * Double.pi * frequency * Double(frame) / 48_000))
            samples += [value, value]
        }
        try samples.withUnsafeBytes { try Data($0).write(to: file) }
        return try Child([
            "pacat", "--playback", "--raw", "--format=s16le", "--rate=48000", "--channels=2", "--latency-msec=20",
            "--server", address, "--device", sink, file.path,
        ])
    }
}
