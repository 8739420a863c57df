import SessionBus
import TestSupport

/// A message bus of a test's own (`dbus-daemon`), which ends with the value.
package final class TestBus: Sendable {
    package let address: String
    private let daemon: Program

    /// - Parameters:
    ///   - configuration: a file of dbus-daemon(1); nil for that of a session.
    ///   - environment: changes to the environment of the bus, and of what it starts.
    package init(configuration: String? = nil, environment: [String: String?] = [:]) throws {
        let kind = configuration.map { "--config-file=\($0)" } ?? "--session"
        daemon = try Program(
            "dbus-daemon", [kind, "--nofork", "--nopidfile", "--print-address=1"], environment: environment)
        guard let address = daemon.line(seconds: 20, { $0 }) else {
            throw Program.Failure("no bus: \(daemon.text.errors)")
        }
        self.address = address
    }

    /// Kills the bus, like a crash.
    package func kill() {
        daemon.kill()
        _ = daemon.exitCode(seconds: 10)
    }

    /// Connects to the bus, and takes a name.
    package func service(
        _ name: String? = nil, answer: @escaping BusService.Answer = { _ in nil }
    ) throws -> BusService {
        guard let connection = BusConnection(address: address) else { throw Program.Failure("the bus does not answer") }
        return try BusService(connection, name, answer)
    }
}
