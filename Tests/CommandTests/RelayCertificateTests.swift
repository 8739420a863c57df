import Foundation
import TestSupport
import Testing

/// `share relay --tls`: the certificate of an operator, and what clients make of it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RelayCertificateTests {
    private let authority: CertificateAuthority
    private let folder: TemporaryFolder

    init() throws {
        authority = try CertificateAuthority()
        folder = try TemporaryFolder()
    }

    private func relay(_ arguments: [String]) throws -> (process: ShareProcess, link: String, metrics: String?) {
        let process = try ShareProcess(
            ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"] + arguments, in: folder)
        let event = try #require(process.event("link"), "\(process.errorText)")
        return (process, try #require(event["link"] as? String), event["metrics"] as? String)
    }

    private func publish(to link: String) throws -> Terminal {
        try Terminal(
            ["host", "--relay", link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept", "any"],
            environment: ["SSL_CERT_FILE": authority.file])
    }

    private func watch(_ link: String, trusting file: String?) throws -> ShareProcess {
        try ShareProcess(
            ["join", "--headless", "--json"],
            environment: ["SHARE_LINK": link].merging(file.map { ["SSL_CERT_FILE": $0] } ?? [:]) { $1 })
    }

    /// The status of the page, as a browser would get it.
    private func page(_ link: String, _ more: [String] = []) throws -> (code: Int32, status: String) {
        let program = try Program(
            "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", authority.file] + more + [link])
        return (program.exitCode(seconds: 20) ?? -1, program.text.output)
    }

    @Test func hostsViewersAndForeignClientsCheckTheName() throws {
        let certificate = try authority.issue("DNS:localhost,IP:127.0.0.1")
        let relay = try relay(certificate.arguments + ["--link-host", "localhost", "--metrics", "127.0.0.1:0"])
        // Version 2, flag 1.
        #expect(relay.link.hasPrefix("https://localhost:") && relay.link.contains("#Ag"))
        let shown = try #require(relay.process.event("certificate"))
        #expect(shown["names"] as? [String] == ["localhost", "127.0.0.1"])
        let expires = try #require(try? Date(shown["expires"] as? String ?? "", strategy: .iso8601))
        let metrics = try #require(relay.metrics)
        let program = try Program("curl", ["-s", metrics + "/metrics"])
        #expect(program.exitCode(seconds: 20) == 0)
        let line = "share_relay_certificate_expiry_timestamp_seconds \(Int(expires.timeIntervalSince1970))\n"
        #expect(program.text.output.contains(line))
        let host = try publish(to: relay.link)
        let link = try #require(relay.process.event("live")?["link"] as? String)
        #expect(link.hasPrefix("https://localhost:") && link.contains("#Ag"), "\(link)")
        let viewer = try watch(link, trusting: authority.file)
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        #expect(try page(link) == (0, "200"))
        #expect(try page(link.replacing("localhost", with: "127.0.0.1"), ["--tls-max", "1.2"]) == (0, "200"))
        // Without the authority nobody is told who runs the relay.
        let stranger = try watch(link, trusting: nil)
        #expect(stranger.exitCode() == 76)
        #expect(stranger.errorText.contains("is not from an authority that this computer trusts"))
        let doctor = try ShareProcess(["doctor", "--link", link], environment: ["SSL_CERT_FILE": authority.file])
        _ = doctor.exitCode()
        #expect(doctor.lines.contains { $0.contains("it is valid for localhost") }, "\(doctor.lines)")
        try host.type("C-c")
        #expect(viewer.event("ended")?["code"] as? String == "hostEnded")
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    @Test func certificatesForAnotherNameAndExpiredOnesAreRefused() throws {
        let right = try authority.issue("DNS:localhost")
        let relay = try relay(right.arguments)
        let host = try publish(to: relay.link)
        let link = try #require(relay.process.event("live")?["link"] as? String)
        let other = try watch(link.replacing("localhost", with: "127.0.0.1"), trusting: authority.file)
        #expect(other.exitCode() == 76 && other.errorText.contains("is for another name"), "\(other.errorText)")
        try authority.issue("DNS:localhost", days: -1).replace(right)
        #expect(relay.process.waitForError("the certificate has expired"))
        let late = try watch(link, trusting: authority.file)
        #expect(late.exitCode() == 76 && late.errorText.contains("has expired"), "\(late.errorText)")
        _ = host
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    /// Somebody with a certificate for the name is not the peer of the link.
    @Test func theNameAloneIsNotTheRelay() throws {
        let certificate = try authority.issue("DNS:localhost")
        let right = try relay(certificate.arguments)
        let (elsewhere, place) = (try TemporaryFolder(), ["relay", "--listen", "127.0.0.1:0", "--accept", "any"])
        let other = try ShareProcess(place + ["--json"] + certificate.arguments, in: elsewhere)
        let otherLink = try #require(other.event("link")?["link"] as? String, "\(other.errorText)")
        let (port, otherPort) = (
            try #require(URL(string: right.link)?.port), try #require(URL(string: otherLink)?.port)
        )
        let host = try Terminal(
            ["host", "--relay", right.link.replacing(":\(port)/", with: ":\(otherPort)/"), "--source", "test"],
            environment: ["SSL_CERT_FILE": authority.file])
        #expect(host.waitUntil { $0.contains("another computer than the one in the link") }, "\(host.screen())")
        right.process.interrupt()
        other.interrupt()
        #expect(right.process.exitCode() == 0 && other.exitCode() == 0)
    }

    @Test func aRenewalCutsNothing() throws {
        let first = try authority.issue("DNS:localhost")
        let relay = try relay(first.arguments)
        let host = try publish(to: relay.link)
        let link = try #require(relay.process.event("live")?["link"] as? String)
        let viewer = try watch(link, trusting: authority.file)
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        // A broken file changes nothing.
        try "nothing".write(toFile: first.chain, atomically: true, encoding: .utf8)
        #expect(relay.process.waitForError("has no certificate in PEM"))
        #expect(try page(link) == (0, "200"))
        try authority.issue("DNS:localhost,DNS:second.example", rsaBits: 2_048).replace(first)
        #expect(relay.process.event("certificate") { ($0["names"] as? [String])?.count == 2 } != nil)
        let port = try #require(URL(string: link)?.port)
        let second = link.replacing("localhost", with: "second.example")
        #expect(try page(second, ["--resolve", "second.example:\(port):127.0.0.1", "--tls-max", "1.2"]) == (0, "200"))
        let another = try watch(link, trusting: authority.file)
        #expect(another.event("first-picture") != nil, "\(another.errorText)")
        #expect(viewer.isRunning)
        try host.type("C-c")
        // The stream of events was open all the time.
        #expect(viewer.event("ended")?["code"] as? String == "hostEnded")
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    @Test func badFilesAreToldWithoutACrash() throws {
        let (one, two) = (try authority.issue("DNS:localhost"), try authority.issue("DNS:*.relay.example"))
        let weak = try authority.issue("DNS:localhost", rsaBits: 1_024)
        let nameless = try authority.issue("email:relay@example.com")
        for (arguments, words) in [
            (["--tls", one.chain], "--tls takes two files"),
            (["--tls", one.chain, one.key, one.key], "--tls takes two files"),
            (["--tls", folder.file("none"), one.key], "none cannot be read"),
            (["--tls", one.key, one.key], "has no certificate in PEM"),
            (["--tls", one.chain, one.chain], "has no private key in PEM"),
            (["--tls", one.chain, two.key], "does not have the key of the certificate"),
            (["--tls", folder.path, one.key], "cannot be read"),
            (weak.arguments, "has a certificate that OpenSSL refuses: ee key too small"),
            (nameless.arguments, "without a name"), (two.arguments, "a link needs one name"),
            (two.arguments + ["--link-host", "relay.example"], "the certificate is not for relay.example"),
            (two.arguments + ["--link-host", "a.b.relay.example"], "the certificate is not for a.b.relay.example"),
            (["--link-host", "a/b"], "--link-host is a name or an address"),
        ] {
            let program = try ShareProcess(["relay", "--accept", "any"] + arguments, in: folder)
            #expect(program.exitCode() == 64 && program.errorText.contains(words), "\(arguments): \(program.errorText)")
        }
        let relay = try relay(two.arguments + ["--link-host", "a.relay.example"])
        #expect(relay.link.hasPrefix("https://a.relay.example:"))
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }
}
