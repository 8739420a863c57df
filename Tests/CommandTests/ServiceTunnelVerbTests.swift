import Foundation
import TestSupport
import Testing

/// `share service --relay`, and hosts that reach it over `share relay`, as different users run them.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ServiceTunnelVerbTests {
    /// `share relay`, which can start again at the same place with the same identity.
    private struct Relay {
        let process: ShareProcess
        let folder: TemporaryFolder
        let link: String

        init(again relay: Relay? = nil, accept: String = "any") throws {
            folder = try relay?.folder ?? TemporaryFolder()
            let port = relay.flatMap { URL(string: $0.link)?.port } ?? 0
            process = try ShareProcess(
                ["relay", "--listen", "127.0.0.1:\(port)", "--json", "--accept", accept], in: folder)
            link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
        }
    }

    private struct Service {
        let process: ShareProcess
        let folder: TemporaryFolder
        let link: String

        init(at relay: Relay, _ arguments: [String] = ["--accept", "any"]) throws {
            folder = try TemporaryFolder()
            process = try ShareProcess(
                [
                    "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--json",
                    "--field", "title:Title", "--relay", relay.link,
                ] + arguments, in: folder)
            link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
        }
    }

    private func install(_ link: String) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let installing = try ShareProcess(["extension", "install", link], in: folder)
        #expect(installing.exitCode() == 0, "\(installing.errorText)")
        return folder
    }

    private func host(_ folder: TemporaryFolder) throws -> Terminal {
        try Terminal(
            [
                "host", "--preferred-extension", "com.example.conference", "--source", "test", "--audio", "none",
                "--name", "Budget", "--field", "title=Accounts",
            ], environment: ["XDG_DATA_HOME": folder.path])
    }

    /// Both users agree, the media goes past the relay, and goes on when it dies. The service registers again by
    /// itself, and its link stays valid.
    @Test func hostsBroadcastToAServiceThatNobodyCanReach() throws {
        let relay = try Relay()
        let recordings = try TemporaryFolder()
        let service = try Service(at: relay, ["--accept", "any", "--record", recordings.path])
        #expect(relay.process.event("meeting-opened")?["service"] as? String == "com.example.conference")
        #expect(URL(string: service.link)?.port == URL(string: relay.link)?.port)
        let folder = try install(service.link)
        let host = try host(folder)
        #expect(
            host.waitUntil {
                $0.contains("\"Budget\" wants to broadcast to \"Conference\"") && $0.contains(", over the relay at")
                    && $0.contains("it cannot watch") && $0.hasSuffix("[n]o:")
            }, "\(host.screen())")
        #expect(service.process.event("pairing", seconds: 0.1) == nil)
        try host.type("y", "Enter")
        let paired = service.process.event("paired")
        #expect(paired?["application"] as? String == "Budget", "\(host.screen()) \(service.process.errorText)")
        #expect((paired?["setup"] as? [String: String]) == ["title": "Accounts"])
        #expect(service.process.event("first-picture") != nil, "\(host.screen())")
        let begin = ContinuousClock.now
        let path = service.process.event("connected")?["path"] as? String ?? ""
        #expect(path.hasPrefix("direct"), "\(path)")
        #expect(relay.process.event("live", seconds: 0.1) == nil)

        relay.process.kill()
        #expect(service.process.waitForError("the connection to Relay is interrupted: no host can pair meanwhile"))
        #expect(service.process.event("relay-interrupted")?["relay"] as? String == "Relay")
        let again = try Relay(again: relay)
        #expect(again.link == relay.link)
        #expect(again.process.event("meeting-opened")?["service"] as? String == "com.example.conference")
        #expect(service.process.waitForError("registered at the relay again"))
        #expect(service.process.event("registered") != nil)
        let other = try install(service.link)
        let second = try self.host(other)
        #expect(second.waitUntil { $0.hasSuffix("[n]o:") }, "\(second.screen())")
        try second.type("n", "Enter")
        #expect(second.waitUntil { $0.contains("you declined to broadcast to this service") })

        // The first broadcast has not noticed.
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        try host.type("C-c")
        let closed = service.process.event("broadcast-closed")
        #expect(closed?["code"] as? String == "hostEnded", "\(String(describing: closed))")
        let recorded = service.process.event("recorded")?["seconds"] as? Double ?? 0
        #expect(recorded > seconds - 2, "\(recorded) of \(seconds) s")
        service.process.interrupt()
        #expect(service.process.exitCode() == 0)
        #expect(again.process.event("meeting-closed") != nil)
    }

    /// The relay answers 403: the service and the host say why, and end.
    @Test func aRelayThatKnowsNeitherServiceNorHostTurnsThemAway() throws {
        let relay = try Relay(accept: "known")
        let folder = try TemporaryFolder()
        let service = try ShareProcess(
            [
                "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--accept", "any",
                "--relay", relay.link,
            ], in: folder)
        #expect(service.exitCode() == 77)
        #expect(
            service.errorText.contains(
                "the relay does not take this service: the service refused: the service takes broadcasts of known hosts only"
            ),
            "\(service.errorText)")
        for route in ["direct", "relay"] {
            let host = try Terminal(["host", "--relay", relay.link, "--route", route, "--source", "test"])
            #expect(
                host.waitUntil { $0.contains("the service takes broadcasts of known hosts only") }, "\(host.screen())")
        }
        #expect(relay.process.event("pairing-refused") != nil)
    }

    /// While `share relay` was away, another service has taken the identifier: the first one says so once, and no more.
    @Test func aServiceWhoseIdentifierIsTakenSaysSo() throws {
        let relay = try Relay()
        let service = try Service(at: relay)
        relay.process.kill()
        #expect(service.process.waitForError("is interrupted: no host can pair meanwhile"))
        service.process.suspend()
        let again = try Relay(again: relay)
        let other = try Service(at: again)
        service.process.resume()
        #expect(
            service.process.waitForError(
                "no host can pair any more: the relay does not take this service: the identifier is another"),
            "\(service.process.errorText)")
        #expect(other.link != service.link)
        for process in [service.process, other.process] {
            process.interrupt()
            #expect(process.exitCode() == 0)
        }
    }

    /// The service's user is asked in its terminal, and the relay's operator before that.
    @Test func theServicesUserIsAsked() throws {
        let relay = try Relay()
        let service = try Terminal([
            "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--relay", relay.link,
        ])
        let link = try #require(service.waitFor { $0.firstLink }, "\(service.screen())")
        let folder = try TemporaryFolder()
        let installing = try ShareProcess(["extension", "install", link], in: folder)
        #expect(installing.exitCode() == 0, "\(installing.errorText)")
        let host = try host(folder)
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") || $0.hasSuffix("Title:") }, "\(host.screen())")
        try host.type("y", "Enter")
        _ = try #require(service.waitFor { $0.takesAnswer(about: "Budget") }, "\(service.screen())")
        try service.type("n")
        #expect(host.waitUntil { $0.contains("the service said no") }, "\(host.screen())")
    }

    /// The service has an identity of its own for the relay, where one identity has one place.
    @Test func aServiceAndAHostOfOneUserAreMetAtOneRelay() throws {
        let relay = try Relay()
        let service = try Service(at: relay)
        let host = try Terminal(
            ["host", "--relay", relay.link, "--route", "direct", "--source", "test", "--accept", "any"],
            environment: ["XDG_DATA_HOME": service.folder.path])
        #expect(relay.process.event("meeting-opened") { $0["broadcast"] != nil } != nil)
        _ = try install(service.link)
        #expect(!service.process.errorText.contains("no host can pair"), "\(service.process.errorText)")
        try host.type("C-c")
        #expect(relay.process.event("meeting-closed")?["broadcast"] != nil)
        service.process.interrupt()
        #expect(relay.process.event("meeting-closed") { $0["service"] != nil } != nil)
    }

    @Test func badArgumentsAreToldWithoutACrash() throws {
        let folder = try TemporaryFolder()
        let relay = try Relay()
        let service = try Service(at: relay)
        let common = ["service", "--id", "com.example.other", "--headless", "--accept", "any", "--relay"]
        for (arguments, words) in [
            ([relay.link, "--token", "a-token-of-twenty-chars"], "would let the relay publish"),
            (["https://example.com/"], "Copy it again"),
            ([service.link], "not the relay's own"),
            (["https://127.0.0.1:1/services/x.y#" + String(relay.link.split(separator: "#")[1])], "the relay does not"),
        ] {
            let program = try ShareProcess(common + arguments, in: folder)
            let code = program.exitCode() ?? 0
            #expect((64...78).contains(code) && program.errorText.contains(words), "\(arguments): \(program.errorText)")
        }
        // The identifier is that of the service which is there, of another certificate.
        let other = try ShareProcess(
            ["service", "--id", "com.example.conference", "--headless", "--accept", "any", "--relay", relay.link],
            in: folder)
        #expect(
            other.exitCode() != 0 && other.errorText.contains("the identifier is another certificate's"),
            "\(other.errorText)")
    }
}
