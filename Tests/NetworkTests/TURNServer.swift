import NetworkBed
import TestSupport

/// coturn in a node of an emulated network, for STUN and for TURN over UDP and TCP. Killed with the value.
final class TURNServer: Sendable {
    /// What `share` is told about it: the URL's user, and the credential for the environment.
    static let user = "tester"
    static let credential = "not-a-secret"
    private let program: Program
    private let folder: TemporaryFolder

    init(in node: NetworkNode, address: String) throws {
        folder = try TemporaryFolder()
        let (launcher, words) = node.command(
            "turnserver",
            [
                "-n", "--listening-ip", address, "--relay-ip", address, "--realm", "share.test", "--lt-cred-mech",
                "--user", "\(Self.user):\(Self.credential)", "--no-tls", "--no-dtls", "--no-cli", "--log-file",
                "stdout",
                "--userdb", folder.file("users"), "--pidfile", folder.file("pid"), "--verbose",
            ])
        program = try Program(launcher, words)
        // The last listener that it opens is that for TCP.
        let isReady = program.line(seconds: 20) { $0.contains("TCP listener opened on") ? true : nil }
        guard isReady == true else {
            throw Program.Failure("turnserver did not start: \(program.text.output) \(program.text.errors)")
        }
    }
}
