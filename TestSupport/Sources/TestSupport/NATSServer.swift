import Foundation

/// A NATS server of a test, on a free port of the loopback interface. Ended with the value.
public final class NATSServer {
    private let program: Program
    public let port: Int
    public var url: String { "nats://127.0.0.1:\(port)" }

    /// - Parameters:
    ///   - port: that of a server which has ended; nil: a free one.
    ///   - arguments: further ones, as `--tls`.
    public init(port: Int? = nil, _ arguments: [String] = []) throws {
        program = try Program("nats-server", ["-a", "127.0.0.1", "-p", "\(port ?? -1)"] + arguments)
        let place: Int? = program.line(.error, seconds: 20) { line in
            guard let range = line.range(of: "client connections on 127.0.0.1:") else { return nil }
            return Int(line[range.upperBound...])
        }
        guard let place else { throw Program.Failure("nats-server did not start: \(program.text.errors)") }
        self.port = place
    }

    /// Ends the server at once.
    public func kill() { program.kill() }

    /// Ends it and waits until it has gone.
    public func end() {
        program.kill()
        _ = program.exitCode(seconds: 10)
    }
}
