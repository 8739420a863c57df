import Foundation
import ICEServers
import TestSupport
import Testing

/// The configurations in `Scripts/relay`, in the programs that read them.
@Suite(.timeLimit(.minutes(1)))
struct RelayFilesTests {
    private func text(of file: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Scripts/relay").standardized
        return try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
    }

    /// Nobody gets from the TURN server into private networks.
    @Test func coturnRefusesPrivateAddresses() throws {
        let secret = "a-secret-of-this-test"
        let own = try text(of: "turnserver.conf").split(separator: "\n").filter { line in
            !["cert=", "pkey=", "listening-port=", "tls-listening-port="].contains { line.hasPrefix($0) }
        }.joined(separator: "\n").replacing("PUT-THE-SECRET-HERE", with: secret)
        let server = try LoopbackTURNServer(configuration: own)
        let credentials = TURNSecret(secret, lifetime: 600)
        for peer in ["10.0.0.1", "127.0.0.1", "172.16.0.1", "192.168.1.5", "169.254.1.1", "100.64.0.1"] {
            // One user may have few allocations.
            let (name, password) = credentials.credentials(for: peer, at: Date())
            let client = try Program(
                "turnutils_uclient",
                [
                    "-u", name, "-w", password, "-p", "\(server.port)", "-e", peer, "-r", "9", "-n", "1", "-c",
                    "127.0.0.1",
                ])
            defer { client.kill() }
            let answer = client.line(seconds: 20) { $0.contains("error 403 (Forbidden IP)") ? true : nil }
            #expect(answer == true, "\(peer): \(client.text)")
        }
    }

    @Test func natsTakesItsConfiguration() throws {
        let folder = try TemporaryFolder()
        let certificate = try Program(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=nats.example", "-keyout", folder.file("key.pem"), "-out", folder.file("certificate.pem"),
            ])
        #expect(certificate.exitCode(seconds: 20) == 0)
        let file = folder.file("nats-server.conf")
        try text(of: "nats-server.conf").replacing("/etc/share/nats", with: folder.path)
            .write(toFile: file, atomically: true, encoding: .utf8)
        let server = try Program("nats-server", ["-t", "-c", file])
        #expect(server.exitCode(seconds: 20) == 0, "\(server.text)")
    }
}
