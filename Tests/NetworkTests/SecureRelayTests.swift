import NetworkBed
import TestSupport
import Testing

/// TURN over TLS, where both homes block all UDP.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SecureRelayTests {
    private let homes: TwoHomes

    init() throws {
        let closed = TwoHomes.Home(.portRestricted, blocksDatagrams: true)
        homes = try TwoHomes(host: closed, viewer: closed, conditions: LinkConditions(delayMilliseconds: 10))
    }

    @Test func itConnectsWhereDatagramsAreBlocked() throws {
        let certificate = try ServerCertificate(address: TwoHomes.serverAddress)
        let server = try TURNServer(in: homes.server, certificate: certificate)
        let tunnel = try ReverseTunnel(
            homes, [server], host: ["--turn", TURNServer.secureURL], environment: ["SSL_CERT_FILE": certificate.file])
        let path = try tunnel.path()
        #expect(path.contains("relay"), "\(path)")
        #expect(server.sessions.count >= 2)
    }

    /// A false server gets nothing, not even a user name.
    @Test func aCertificateOfSomebodyElseIsRefusedAndSaidSo() throws {
        let certificate = try ServerCertificate(address: TwoHomes.serverAddress)
        let other = try ServerCertificate(address: TwoHomes.serverAddress)
        let server = try TURNServer(in: homes.server, certificate: certificate)
        let tunnel = try ReverseTunnel(
            homes, [server], host: ["--turn", TURNServer.secureURL], environment: ["SSL_CERT_FILE": other.file])
        let ended = try tunnel.viewer.event("ended", seconds: 40)
        #expect(ended["code"] as? String == "noRoute")
        #expect(tunnel.viewer.exitCode() == 68)
        for words in [tunnel.viewer.errorText, tunnel.host.errorText] {
            #expect(words.contains("turns:\(TwoHomes.serverAddress):\(TURNServer.securePort)"), "\(words)")
            #expect(words.contains("is not trusted") && words.contains("SSL_CERT_FILE"), "\(words)")
        }
        #expect(tunnel.host.isRunning)
        #expect(server.sessions.isEmpty)
    }

    @Test func aCertificateForAnotherAddressIsRefused() throws {
        let certificate = try ServerCertificate(address: "192.0.2.9")
        let server = try TURNServer(in: homes.server, certificate: certificate)
        let (launcher, words) = homes.viewer.command(
            try Program.share(), ["doctor", "--turn", TURNServer.secureURL])
        let doctor = try Program(
            launcher, words,
            environment: ["SHARE_TURN_CREDENTIAL": TURNServer.credential, "SSL_CERT_FILE": certificate.file])
        _ = doctor.exitCode(seconds: 40)
        let line = doctor.lines(.standard).first { $0.contains("turns:") }
        #expect(line?.contains("is not trusted") == true, "\(doctor.text)")
        #expect(server.sessions.isEmpty)
    }
}
