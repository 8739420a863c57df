import Foundation

/// PipeWire with WirePlumber for one test, and cameras that programs play (`test-camera`). Ends with the value.
public final class CameraBed {
    /// The environment of a program that finds these cameras and no others.
    public let environment: [String: String]
    private let folder: TemporaryFolder
    private let bus: Program
    private var servers: [Program] = []
    private var cameras: [String: Program] = [:]

    /// - Parameter hasPipeWire: whether it runs from the beginning.
    public init(hasPipeWire: Bool = true) throws {
        folder = try TemporaryFolder()
        bus = try Program("dbus-daemon", ["--session", "--nofork", "--print-address=1"])
        guard let address = bus.line(.standard, seconds: 20, { $0.hasPrefix("unix:") ? $0 : nil }) else {
            throw Program.Failure("dbus-daemon did not start: \(bus.text.errors)")
        }
        var environment = ["HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": address, "PIPEWIRE_REMOTE": "pipewire-0"]
        for variable in [
            "XDG_RUNTIME_DIR", "PIPEWIRE_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
        ] {
            environment[variable] = folder.path
        }
        self.environment = environment
        if hasPipeWire { try startPipeWire() }
    }

    deinit {
        for program in cameras.values { program.kill() }
        for program in servers.reversed() { program.kill() }
        bus.kill()
    }

    /// The socket of PipeWire.
    public var socket: String { folder.file("pipewire-0") }

    public func startPipeWire() throws {
        let server = try Program("pipewire", environment: environment)
        guard folder.waitForFile("pipewire-0", seconds: 20) else {
            throw Program.Failure("no PipeWire: \(server.text.errors)")
        }
        servers = [server, try Program("wireplumber", environment: environment)]
    }

    /// Kills PipeWire and WirePlumber, like a crash; the cameras end with it.
    public func endPipeWire() {
        for program in servers.reversed() { program.kill() }
        for program in cameras.values { program.kill() }
        (servers, cameras) = ([], [:])
        // The socket of the next server is a new file.
        unlink(folder.file("pipewire-0"))
        unlink(folder.file("pipewire-0.lock"))
    }

    /// Plugs a camera in.
    /// - Parameter options: see `test-camera`.
    public func plug(_ name: String, _ options: [String] = [], environment more: [String: String] = [:]) throws {
        let camera = try Program(
            Program.built("test-camera"), [name] + options, environment: environment.merging(more) { $1 })
        guard camera.line(seconds: 20, { $0 == "ready" ? true : nil }) == true else {
            throw Program.Failure("the camera \(name) did not start: \(camera.text.errors)")
        }
        cameras[name] = camera
    }

    public func unplug(_ name: String) { cameras.removeValue(forKey: name)?.kill() }

    /// Waits until a camera has said a line so many times, for 20 s at most: "streaming", "idle".
    public func camera(_ name: String, says line: String, times: Int = 1) -> Bool {
        var count = 0
        return cameras[name]?.line(seconds: 20) {
            if $0 == line { count += 1 }
            return count >= times ? true : nil
        } ?? false
    }
}
