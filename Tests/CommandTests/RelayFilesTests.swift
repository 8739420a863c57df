import Foundation
import Signaling
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

    /// Addresses of IANA's registries of special-purpose addresses that are not global.
    private static let specialAddresses = [
        "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.0.2.1",
        "192.88.99.1", "192.168.1.5", "198.19.255.255", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.255",
        "168.63.129.16", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:0:7f00:1", "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1", "100::1", "100:0:0:1::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1",
        "fd00:ec2::254", "fe80::1", "fec0::1",
    ]
    private static let globalAddresses = ["8.8.8.8", "192.0.1.1", "223.1.1.1", "2606:4700::1111", "2a00:1450::1"]

    /// Nobody gets from the TURN server into networks that are not the Internet, and everybody to the Internet.
    @Test func coturnRefusesSpecialAddressesAlone() throws {
        let secret = "a-secret-of-this-test"
        let own = try text(of: "turnserver.conf").split(separator: "\n").filter { line in
            !["cert=", "pkey=", "listening-port=", "tls-listening-port="].contains { line.hasPrefix($0) }
        }.joined(separator: "\n").replacing("PUT-THE-SECRET-HERE", with: secret)
        let server = try LoopbackTURNServer(configuration: own, relayAddresses: ["127.0.0.1", "::1"])
        let credentials = TURNSecret(secret, lifetime: 600)
        for peer in Self.specialAddresses + Self.globalAddresses {
            // One user may have few allocations.
            let (name, password) = credentials.credentials(for: peer, at: Date())
            let client = try Program(
                "turnutils_uclient",
                [
                    "-v", "-u", name, "-w", password, "-p", "\(server.port)", "-e", peer, "-r", "9", "-n", "1", "-c",
                ] + (peer.contains(":") ? ["-x"] : []) + ["127.0.0.1"])
            defer { client.kill() }
            let isRefused = client.line(seconds: 20) { line -> Bool? in
                if line.contains("error 403 (Forbidden IP)") { return true }
                return line.contains("success: 0x") ? false : nil
            }
            #expect(isRefused == Self.specialAddresses.contains(peer), "\(peer): \(client.text)")
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
