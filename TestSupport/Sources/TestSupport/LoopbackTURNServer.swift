import Foundation
import Glibc

/// coturn on loopback, with one user. Killed with the value.
public final class LoopbackTURNServer: Sendable {
    public static let user = "alice"

    public let port: UInt16
    private let program: Program
    private let folder: TemporaryFolder

    /// Accepts the users with credentials made from this secret (coturn's `use-auth-secret`).
    public convenience init(secret: String) throws {
        try self.init(["--use-auth-secret", "--static-auth-secret", secret])
    }

    public convenience init(password: String) throws {
        try self.init(["--lt-cred-mech", "--user", "\(Self.user):\(password)"])
    }

    /// Runs with a configuration file.
    /// - Parameters:
    ///   - text: has neither ports nor certificates.
    ///   - relayAddresses: those of its allocations.
    public convenience init(configuration text: String, relayAddresses: [String] = ["127.0.0.1"]) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("turnserver.conf")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        try self.init(["-c", file], relayAddresses: relayAddresses, in: folder)
    }

    private convenience init(_ guests: [String]) throws {
        try self.init(
            ["-n", "--no-cli", "--realm", "test", "--allow-loopback-peers", "--no-rfc5780"] + guests,
            in: try TemporaryFolder())
    }

    private init(
        _ settings: [String], relayAddresses: [String] = ["127.0.0.1"], in folder: TemporaryFolder
    ) throws {
        self.folder = folder
        port = try Self.freePort()
        program = try Program(
            "turnserver",
            settings + relayAddresses.flatMap { ["--relay-ip", $0] } + [
                "--listening-ip", "127.0.0.1", "--listening-port", "\(port)",
                "--no-tls", "--no-dtls", "--log-file", "stdout", "--simple-log",
                "--pidfile", folder.path + "/pid", "--userdb", folder.path + "/users",
            ])
        guard program.line(seconds: 20, { $0.contains("Total General servers") ? true : nil }) == true else {
            throw Program.Failure("coturn did not start: \(program.text.output.suffix(500)) \(program.text.errors)")
        }
    }

    /// The URL for `--turn`.
    public func url(_ transport: String = "udp") -> String {
        "turn:\(Self.user)@127.0.0.1:\(port)?transport=\(transport)"
    }

    /// Kills the server.
    public func kill() { program.kill() }

    /// Returns a port that was free for UDP and TCP a moment ago.
    private static func freePort() throws -> UInt16 {
        for _ in 0..<20 {
            let sockets = [SOCK_DGRAM, SOCK_STREAM].map { socket(AF_INET, Int32($0.rawValue), 0) }
            defer { for socket in sockets { close(socket) } }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let areFree = sockets.allSatisfy { socket in
                withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
                    }
                }
            }
            if areFree { return UInt16(bigEndian: address.sin_port) }
        }
        throw Program.Failure("no port is free")
    }
}
