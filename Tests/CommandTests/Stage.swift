import Foundation

/// Another program that a test needs; killed with the value.
final class Helper {
    private let program: Program

    init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        program = try Program(
            name, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
    }

    /// The first line on stdout.
    func firstLine() -> String? {
        program.wait(seconds: 20) { output, _ in
            output.firstIndex(of: 10).map { String(decoding: output[..<$0], as: UTF8.self) }
        }
    }

    /// Everything that it writes until its end.
    func finish() -> String {
        _ = program.exitCode(seconds: 20)
        return program.text.output
    }

    var isRunning: Bool { program.isRunning }
    func kill() { program.kill() }
}

struct StageFailure: Error {
    var message: String
    init(_ message: String) { self.message = message }
}

/// An X server without a screen, on a number that it found free.
final class VirtualDisplay {
    let name: String
    private let server: Helper

    init(width: Int = 1280, height: Int = 720, arguments: [String] = []) throws {
        server = try Helper(
            "Xvfb",
            ["-displayfd", "1", "-screen", "0", "\(width)x\(height)x24", "-nolisten", "tcp", "-noreset"] + arguments)
        guard let number = server.firstLine(), !number.isEmpty else { throw StageFailure("Xvfb did not start") }
        name = ":\(number)"
    }

    /// Runs a program on this display until its end.
    func run(_ program: String, _ arguments: [String]) throws {
        _ = try Helper(program, arguments, environment: ["DISPLAY": name]).finish()
    }

    func start(_ program: String, _ arguments: [String]) throws -> Helper {
        try Helper(program, arguments, environment: ["DISPLAY": name])
    }

    /// As a crash would.
    func kill() { server.kill() }
}

/// A sound server without a card, whose only sink's monitor is recorded.
final class SoundServer {
    let environment: [String: String]
    private let server: Helper

    init(in folder: TemporaryFolder) throws {
        let socket = folder.file("pulse.socket")
        environment = ["PULSE_SERVER": "unix:\(socket)", "XDG_RUNTIME_DIR": folder.url.path, "HOME": folder.url.path]
        server = try Helper(
            "pulseaudio",
            [
                "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
                "-L", "module-native-protocol-unix socket=\(socket)",
                "-L", "module-null-sink sink_name=screen",
            ], environment: environment)
        // Answers as soon as the server listens; each attempt waits for the last.
        for _ in 0..<200 {
            let probe = try Helper("pactl", ["info"], environment: environment)
            if probe.finish().contains("Default Sink: screen") { return }
            guard server.isRunning else { break }
        }
        throw StageFailure("pulseaudio did not start")
    }

    /// Plays a tone until the value ends.
    func playTone(_ folder: TemporaryFolder) throws -> Helper {
        let file = folder.file("tone.raw")
        let second = (0..<48_000).flatMap { frame -> [Int16] in
            let value = Int16(12_000 * sin(Double(frame) * 2 * .pi * 440 / 48_000))
            return [value, value]
        }
        let bytes = second.withUnsafeBytes { Data($0) }
        let samples = (0..<30).reduce(into: Data()) { all, _ in all += bytes }
        try samples.write(to: URL(fileURLWithPath: file))
        return try Helper(
            "pacat", ["--playback", "--rate=48000", "--channels=2", "--format=s16le", file], environment: environment)
    }

    func kill() { server.kill() }
}
