import Foundation

/// A sound server of a test with the PulseAudio protocol, whose sink `screen` discards audio.
public protocol SoundServer: Sendable {
    /// A PulseAudio server string.
    var address: String { get }
    /// The environment that makes a program its client.
    var environment: [String: String] { get }
    /// The path of a file in the server's folder.
    func file(_ name: String) -> String
}

extension SoundServer {
    /// Runs `pactl` to its end.
    public func control(_ arguments: String...) throws {
        try Program("pactl", ["--server", address] + arguments).finish()
    }

    /// Plays a tone to a sink in real time.
    /// - Parameters:
    ///   - hertz: a whole number, so that all seconds are alike.
    ///   - application: the name that the player gives itself.
    ///   - properties: additional properties of its stream.
    ///   - latency: in milliseconds, the size of the player's buffer.
    public func playTone(
        _ hertz: Int, seconds: Double, sink: String = "screen", application: String = "pacat",
        properties: [String] = [], latency: Int = 20
    ) throws -> Program {
        let second = (0..<48_000).flatMap { frame -> [Int16] in
            let value = Int16(12_000 * sin(2 * Double.pi * Double(hertz * frame) / 48_000))
            return [value, value]
        }
        let bytes = second.withUnsafeBytes { Data($0) }
        let length = Int(48_000 * seconds) * 4
        var samples = Data()
        while samples.count < length { samples += bytes.prefix(length - samples.count) }
        let file = file("tone-\(UUID().uuidString)")
        try samples.write(to: URL(fileURLWithPath: file))
        return try Program(
            "pacat",
            [
                "--playback", "--raw", "--format=s16le", "--rate=48000", "--channels=2", "--latency-msec=\(latency)",
                "--client-name", application, "--server", address, "--device", sink,
            ] + properties.map { "--property=\($0)" } + [file])
    }

    /// The index of the stream that an application plays.
    public func playback(of application: String) throws -> String {
        for _ in 0..<100 {
            let pactl = try Program("pactl", ["--server", address, "list", "sink-inputs"])
            _ = pactl.exitCode(seconds: 5)
            let blocks = pactl.text.output.components(separatedBy: "Sink Input #").dropFirst()
            if let block = blocks.first(where: { $0.contains("application.name = \"\(application)\"") }) {
                return String(block.prefix { $0.isNumber })
            }
        }
        throw Program.Failure("\(application) plays nothing")
    }
}
