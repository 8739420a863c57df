import Foundation

/// PipeWire with WirePlumber and its PulseAudio server for one test, without devices, on a session bus of its own. Its
/// sink `screen` discards audio.
public final class PipeWirePulseServer: SoundServer, Sendable {
    public let address: String
    public let environment: [String: String]
    private let folder: TemporaryFolder
    private let programs: [Program]

    public init() throws {
        folder = try TemporaryFolder()
        address = "unix:\(folder.file("pulse/native"))"
        let bus = try Program("dbus-daemon", ["--session", "--nofork", "--print-address=1"])
        guard let busAddress = bus.line(.standard, seconds: 20, { $0.hasPrefix("unix:") ? $0 : nil }) else {
            throw Program.Failure("dbus-daemon did not start: \(bus.text.errors)")
        }
        var environment = ["HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": busAddress]
        for variable in ["XDG_RUNTIME_DIR", "PIPEWIRE_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            environment[variable] = folder.path
        }
        var programs = [bus]
        for name in ["pipewire", "wireplumber", "pipewire-pulse"] {
            programs.append(try Program(name, environment: environment))
            let socket = name == "pipewire" ? "pipewire-0" : name == "pipewire-pulse" ? "pulse/native" : nil
            guard let socket else { continue }
            try Self.waitForFile(folder.file(socket), of: programs[programs.count - 1])
        }
        environment["PULSE_SERVER"] = address
        self.environment = environment
        self.programs = programs
        try control("load-module", "module-null-sink", "sink_name=screen")
        try control("set-default-sink", "screen")
        try waitForSink()
    }

    deinit { for program in programs.reversed() { program.kill() } }

    public func file(_ name: String) -> String { folder.file(name) }

    private static func waitForFile(_ path: String, of program: Program) throws {
        for _ in 0..<400 {
            if FileManager.default.fileExists(atPath: path) { return }
            // A socket that appears makes no event for us; the program may also end.
            guard program.exitCode(seconds: 0.05) == nil else { break }
        }
        throw Program.Failure("\(path) did not appear: \(program.text.errors)")
    }

    /// Waits until WirePlumber has made the sink the default one.
    private func waitForSink() throws {
        for _ in 0..<400 {
            let pactl = try Program("pactl", ["--server", address, "get-default-sink"])
            _ = pactl.exitCode(seconds: 5)
            if pactl.text.output.hasPrefix("screen") { return }
            _ = programs[0].exitCode(seconds: 0.05)
        }
        throw Program.Failure("the sink did not become the default: \(programs.map(\.text.errors))")
    }
}
