import Foundation
import Glibc
import LinuxRuntime
import SessionBus
import TestSupport

/// The Wayland desktop of a test: xdg-desktop-portal, PipeWire and WirePlumber as Debian ships them, on a bus of its
/// own, in front of `portal-backend`, which stands for the compositor and its user. All of it runs as any user, and
/// ends with the value.
package final class PortalBed: Sendable {
    package let bus: TestBus
    /// The environment of a program in this desktop.
    package let environment: [String: String]
    private let folder: TemporaryFolder
    private let backend: Program
    private let control: BusService
    private let pipeWire: Monitor<[Program]>

    private static let backendName = "org.freedesktop.impl.portal.desktop.sharetest"

    /// - Parameters:
    ///   - commands: what the compositor is told before it starts, such as "size 1920 1080".
    ///   - hasPortal: whether the bus knows xdg-desktop-portal.
    ///   - hasBackend: whether the portal finds the compositor.
    ///   - takesInput: whether the compositor is one for input, too.
    package init(
        _ commands: [String] = [], hasPortal: Bool = true, hasBackend: Bool = true, takesInput: Bool = true,
        backendEnvironment: [String: String] = [:]
    ) throws {
        folder = try TemporaryFolder()
        let path = folder.path
        for name in ["portals", "services"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
        }
        if hasBackend {
            let interfaces = ["ScreenCast"] + (takesInput ? ["RemoteDesktop"] : [])
            try folder.write(
                """
                [portal]
                DBusName=\(Self.backendName)
                Interfaces=\(interfaces.map { "org.freedesktop.impl.portal.\($0)" }.joined(separator: ";"))
                UseIn=sharetest
                """, to: "portals/sharetest.portal")
        }
        try folder.write(
            """
            [D-BUS Service]
            Name=org.freedesktop.impl.portal.PermissionStore
            Exec=/usr/libexec/xdg-permission-store
            """, to: "services/store.service")
        if hasPortal {
            try folder.write(
                """
                [D-BUS Service]
                Name=org.freedesktop.portal.Desktop
                Exec=/usr/libexec/xdg-desktop-portal
                """, to: "services/portal.service")
        }
        try folder.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
                "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>unix:path=\(path)/bus</listen><auth>EXTERNAL</auth>
            <servicedir>\(path)/services</servicedir>
            <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
            """, to: "bus.conf")
        let own = [
            "XDG_RUNTIME_DIR": path, "XDG_DATA_HOME": path, "XDG_CONFIG_HOME": path, "XDG_STATE_HOME": path,
            "XDG_CACHE_HOME": path, "HOME": path, "XDG_DESKTOP_PORTAL_DIR": folder.file("portals"),
            "XDG_CURRENT_DESKTOP": "sharetest", "XDG_SESSION_TYPE": "wayland", "GSETTINGS_BACKEND": "memory",
            "GIO_USE_VFS": "local", "PIPEWIRE_REMOTE": "pipewire-0",
        ]
        let none: [String: String?] = [
            "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "PIPEWIRE_RUNTIME_DIR": nil, "DBUS_SESSION_BUS_ADDRESS": nil,
        ]
        bus = try TestBus(
            configuration: folder.file("bus.conf"), environment: none.merging(own.mapValues { Optional($0) }) { $1 })
        environment = own.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 }
        let all = none.merging(environment.mapValues { Optional($0) }) { $1 }
        pipeWire = Monitor(try Self.startPipeWire(folder, all))
        backend = try Program(
            Program.built("portal-backend"), commands,
            environment: all.merging(backendEnvironment.mapValues { Optional($0) }) { $1 })
        guard backend.line(seconds: 20, { $0 == "ready" ? true : nil }) == true else {
            throw Program.Failure("the test's compositor did not start: \(backend.text)")
        }
        control = try bus.service()
    }

    deinit {
        backend.kill()
        endPipeWire()
        bus.kill()
    }

    private static func startPipeWire(_ folder: TemporaryFolder, _ environment: [String: String?]) throws -> [Program] {
        let server = try Program("pipewire", environment: environment)
        guard folder.waitForFile("pipewire-0", seconds: 20) else {
            throw Program.Failure("no PipeWire: \(server.text)")
        }
        return [server, try Program("wireplumber", environment: environment)]
    }

    /// Kills PipeWire and WirePlumber, like a crash.
    package func endPipeWire() {
        for program in pipeWire.with({ $0 }) { program.kill() }
        pipeWire.with { $0 = [] }
        // The socket of the next server is a new file.
        unlink(folder.file("pipewire-0"))
        unlink(folder.file("pipewire-0.lock"))
    }

    package func restartPipeWire() throws {
        endPipeWire()
        let programs = try Self.startPipeWire(folder, environment.mapValues { Optional($0) })
        pipeWire.with { $0 = programs }
    }

    /// Kills the portal, like a crash; the bus starts another one when it is called.
    package func killPortal() {
        let answer = control.ask(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixProcessID",
            [.text("org.freedesktop.portal.Desktop")])
        if let process = answer?.arguments.first?.number { kill(pid_t(process), SIGKILL) }
    }

    /// Tells the compositor to do something: see `portal-backend`.
    package func tell(_ command: String) throws {
        let answer = control.ask(
            Self.backendName, "/io/sharekit/TestCompositor", "io.sharekit.TestCompositor", "Do", [.text(command)])
        guard answer?.kind == .reply, answer?.arguments.first?.text == "" else {
            throw Program.Failure("the compositor does not understand '\(command)': \(String(describing: answer))")
        }
    }

    /// What the compositor has said so far.
    package var news: [String] { backend.lines(.standard) }

    /// Waits until the compositor has said a line so many times, for 20 s at most.
    package func hears(_ line: String, times: Int = 1) -> Bool {
        var count = 0
        return backend.line(seconds: 20) {
            if $0.hasPrefix(line) { count += 1 }
            return count >= times ? true : nil
        } ?? false
    }

    /// The user's folder for state, as in XDG_STATE_HOME.
    package var stateFolder: String { folder.path }
}

extension TemporaryFolder {
    fileprivate func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    }
}
