import Foundation
import TestSupport
import Testing

/// `share relay`, a host that publishes there, and viewers, as different users run them.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RelayVerbTests {
    private struct Relay {
        let process: ShareProcess
        let folder: TemporaryFolder
        let link: String

        init(_ arguments: [String] = ["--accept", "any"]) throws {
            folder = try TemporaryFolder()
            process = try ShareProcess(["relay", "--listen", "127.0.0.1:0", "--json"] + arguments, in: folder)
            link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
        }
    }

    /// A UDP port that was free a moment ago.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try #require(code == 0)
        withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: place.sin_port)
    }

    private func watch(_ link: String, _ more: [String] = []) throws -> ShareProcess {
        try ShareProcess(["join", "--headless", "--json"] + more, environment: ["SHARE_LINK": link])
    }

    @Test func aHostPublishesToARelayAndViewersWatchThere() throws {
        let port = try Self.freePort()
        let relay = try Relay(["--accept", "any", "--media", "127.0.0.1:\(port)/udp"])
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept",
            "any", "--name",
            "Budget",
        ])
        // The relay's link is the user's word: where the broadcast goes is said, and nothing is asked.
        #expect(host.waitUntil { $0.contains("broadcasting to \"Relay\"") }, "\(host.screen())")
        let live = try #require(relay.process.event("live"), "\(relay.process.errorText)")
        #expect(live["name"] as? String == "Budget")
        let link = try #require(live["link"] as? String)
        // The terminal breaks the line.
        let id = try #require(URL(string: link)?.path)
        #expect(host.waitUntil { $0.contains("share: give the link above") && $0.contains(id) })
        #expect(host.screen().components(separatedBy: id).count == 2, "the link is shown once")
        let (one, two) = (try watch(link), try watch(link))
        #expect(one.event("first-picture") != nil && two.event("first-picture") != nil)
        // All media passes through the one UDP port.
        for viewer in [one, two] {
            let path = viewer.event("connected")?["path"] as? String ?? ""
            #expect(path.contains("127.0.0.1:\(port) ("), "\(path)")
        }
        // All events name the broadcast as its link does.
        #expect(live["broadcast"].map { "/\($0)" } == id)
        let watched = relay.process.event("viewers") { $0["viewers"] as? Int == 2 }
        #expect(watched?["broadcast"].map { "/\($0)" } == id)
        // The host tells the same number, wherever it is asked.
        #expect(host.waitUntil { $0.contains("to \"Relay\", 2 viewers") }, "\(host.screen())")
        let status = try ShareProcess(["status"], in: host.hostFolder)
        #expect(status.exitCode() == 0)
        #expect(status.lines.first?.contains("to \"Relay\", 2 viewers  ") == true, "\(status.lines)")
        // A recorder is a viewer.
        let file = relay.folder.file("a.webm")
        let recorder = try ShareProcess(
            ["record", "--json", "-o", file, "--for", "4"], environment: ["SHARE_LINK": link])
        #expect(recorder.exitCode() == 0)
        let media = try MediaProbe(file)
        #expect(media.streams.first == "vp8" && media.streams.contains("opus") && media.duration > 3.5)
        #expect(try media.decodingErrors() == "")
        let offsets = try RecordedOffsets(of: file, from: 0.5, seconds: 3.5, width: 1_280, framesPerSecond: 30)
        #expect(abs(offsets.worst) < 20, "\(offsets.milliseconds)")
        try host.type("C-c")
        #expect(relay.process.event("closed")?["broadcast"].map { "/\($0)" } == id)
        #expect(one.event("ended")?["code"] as? String == "hostEnded")
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    /// As from systemd, cron or ssh: the relay's link is the user's word, so nobody has to be there.
    @Test(arguments: ["auto", "direct", "relay"]) func aHostWithoutATerminalIsReachedOverARelay(route: String) throws {
        let relay = try Relay()
        let host = try ShareProcess([
            "host", "--relay", relay.link, "--route", route, "--source", "test", "--accept", "any", "--json",
        ])
        let found = try #require(host.event("link"), "\(host.errorText)")
        let viewer = try watch(try #require(found["link"] as? String))
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        host.interrupt()
        #expect(viewer.event("ended") != nil)
        #expect(host.exitCode() == 0, "\(host.errorText)")
    }

    /// The relay sends the media, and the host decides who gets it.
    @Test func theHostDecidesWhoWatchesAtTheRelay() throws {
        let relay = try Relay()
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "relay", "--relay-may-watch", "--source", "test", "--name",
            "Budget",
        ])
        let link = try #require(relay.process.event("live")?["link"] as? String)
        let bob = try watch(link, ["--name", "Bob"])
        let words = try #require(bob.event("knock")?["words"] as? String)
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Bob") }, "\(host.screen())")
        #expect(host.screen().contains(words))
        try host.type("n")
        #expect(bob.exitCode() == 77)
        #expect(bob.errorText.contains("the host said no"), "\(bob.errorText)")
        let ann = try watch(link, ["--name", "Ann"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Ann") }, "\(host.screen())")
        // Who leaves is not asked about any more.
        ann.interrupt()
        #expect(host.waitUntil { $0.contains("they left before they were answered") }, "\(host.screen())")
        let eve = try watch(link, ["--name", "Eve"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Eve") }, "\(host.screen())")
        try host.type("y")
        #expect(eve.event("first-picture") != nil, "\(eve.errorText)")
        try host.type("C-c")
        #expect(eve.event("ended")?["code"] as? String == "hostEnded")
    }

    /// A host that nobody can reach is met at a relay, and sends to each viewer itself.
    @Test func viewersMeetAHostAtTheRelay() throws {
        let relay = try Relay()
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "direct", "--source", "test", "--name", "Budget", "--accept",
            "ask",
        ])
        #expect(host.waitUntil { $0.contains("to be reached over \"Relay\"") }, "\(host.screen())")
        let opened = try #require(relay.process.event("meeting-opened"), "\(relay.process.errorText)")
        #expect(opened["name"] as? String == "Budget")
        let id = try #require(opened["broadcast"] as? String)
        let link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        #expect(link.contains("/\(id)#"))
        let viewer = try watch(link, ["--name", "Ann"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Ann") }, "\(host.screen())")
        try host.type("y")
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        // Nothing of the relay is in the path, and the viewer goes on without it.
        let path = viewer.event("connected")?["path"] as? String ?? ""
        #expect(path.hasPrefix("direct"), "\(path)")
        #expect(relay.process.event("live", seconds: 0.1) == nil)
        relay.process.kill()
        #expect(host.waitUntil { $0.contains("the connection to Relay is interrupted: nobody can join meanwhile") })
        let before = viewer.event("statistics")?["frames"] as? Int ?? 0
        #expect(viewer.event("statistics") { ($0["frames"] as? Int ?? 0) > before + 60 } != nil)
        try host.type("C-c")
        #expect(viewer.event("ended") != nil)
    }

    /// A recorder is a viewer: its media comes from the host.
    @Test func aRecorderMeetsAHostAtTheRelay() throws {
        let relay = try Relay()
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "direct", "--source", "test", "--accept", "any",
        ])
        let link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        let file = relay.folder.file("met.webm")
        let recorder = try ShareProcess(
            ["record", "--json", "-o", file, "--for", "3"], environment: ["SHARE_LINK": link])
        let path = recorder.event("connected")?["path"] as? String ?? ""
        #expect(path.hasPrefix("direct"), "\(path)")
        #expect(recorder.exitCode() == 0, "\(recorder.errorText)")
        let media = try MediaProbe(file)
        #expect(media.streams.first == "vp8" && media.duration > 2.5)
        #expect(try media.decodingErrors() == "")
        // Nothing of it passed through the relay.
        #expect(relay.process.event("live", seconds: 0.1) == nil)
    }

    /// An operator watches a relay, and takes it out of service without a cut.
    @Test func metricsTellWhatRunsAndTheRelayDrains() throws {
        let relay = try Relay(["--accept", "any", "--metrics", "127.0.0.1:0", "--drain", "60s"])
        let begin = try #require(relay.process.lines.first { $0.contains("\"metrics\"") })
        let address = try #require(
            (try JSONSerialization.jsonObject(with: Data(begin.utf8)) as? [String: Any])?["metrics"] as? String)
        func ask(_ path: String, _ more: [String] = []) throws -> (status: String, text: String) {
            let program = try Program("curl", ["-s", "-w", "\n%{http_code}"] + more + [address + path])
            #expect(program.exitCode(seconds: 20) == 0)
            let lines = program.text.output.split(separator: "\n", omittingEmptySubsequences: false)
            return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
        }
        #expect(try ask("/health") == ("200", "ok\n") && ask("/ready") == ("200", "ready\n"))
        #expect(try ask("/metrics").text.contains("share_relay_broadcasts 0\n"))
        #expect(try ask("/other").status == "404" && ask("/metrics", ["-X", "POST"]).status == "405")
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept",
            "any", "--name",
            "A \"b\"",
        ])
        let link = try #require(relay.process.event("live")?["link"] as? String)
        let viewer = try watch(link)
        #expect(viewer.event("first-picture") != nil)
        let id = try #require(URL(string: link)?.path.dropFirst())
        let labels = "{id=\"\(id)\",name=\"A \\\"b\\\"\",codec=\"VP8\"}"
        var text = ""
        func value(_ name: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        }
        // The first frame is there before the counters of its second.
        let isCounted = try eventually {
            text = try ask("/metrics").text
            return text.contains("share_broadcast_connected_viewers\(labels) 1\n")
                && value("share_broadcast_sent_packets_total\(labels)") > 10
        }
        #expect(isCounted, "\(text)")
        #expect(value("share_broadcast_forwarding_seconds_count\(labels)") > 0, "\(text)")
        #expect(value("share_media_datagrams_total") > 10, "\(text)")
        #expect(text.contains("\nshare_media_refused_total ") && text.contains("\nshare_stun_responses_total "))
        #expect(text.contains("share_knocks_total 1\n") && text.contains("share_pairings_total 1\n"))
        // What runs goes on; nobody else comes in.
        relay.process.requestEnd()
        #expect(relay.process.event("draining") != nil)
        #expect(try ask("/ready") == ("503", "draining\n"))
        let late = try watch(link)
        #expect(late.exitCode() == 71 && late.errorText.contains("the relay is about to stop"), "\(late.errorText)")
        #expect(viewer.isRunning)
        try host.type("C-c")
        #expect(viewer.event("ended")?["code"] as? String == "hostEnded")
        #expect(relay.process.exitCode() == 0)
    }

    /// Who is there learns that it was the relay, and not the host.
    @Test func aSecondSignalEndsADrainWithAReason() throws {
        let relay = try Relay(["--accept", "any", "--drain", "60s"])
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept",
            "any", "--name",
            "Budget",
        ])
        let viewer = try watch(try #require(relay.process.event("live")?["link"] as? String))
        #expect(viewer.event("first-picture") != nil)
        relay.process.requestEnd()
        #expect(relay.process.event("draining") != nil)
        relay.process.requestEnd()
        #expect(relay.process.exitCode() == 0, "\(relay.process.errorText)")
        let ended = try #require(viewer.event("ended"))
        #expect((ended["reason"] as? String ?? "").contains("the relay has stopped"), "\(ended)")
        #expect(host.waitUntil { $0.contains("the relay has stopped") }, "\(host.screen())")
    }

    /// A viewer that reaches nothing by UDP gets to the relay over the operator's TURN server, with credentials that
    /// expire.
    @Test func viewersGetCredentialsForTheTURNServer() throws {
        let secret = "a secret that coturn knows"
        let server = try LoopbackTURNServer(secret: secret)
        let folder = try TemporaryFolder()
        try secret.write(toFile: folder.file("secret"), atomically: true, encoding: .utf8)
        let relay = try Relay([
            "--accept", "any", "--media", "127.0.0.1:0", "--turn", "turn:127.0.0.1:\(server.port)?transport=tcp",
            "--turn-secret", folder.file("secret"),
        ])
        let host = try Terminal([
            "host", "--relay", relay.link, "--route", "relay", "--relay-may-watch", "--source", "test", "--accept",
            "any",
        ])
        let link = try #require(relay.process.event("live")?["link"] as? String)
        let viewer = try watch(link, ["--relay-only"])
        #expect(
            viewer.event("first-picture") != nil,
            "\(viewer.errorText) \(host.screen()) \(relay.process.errorText) \(relay.process.lines)")
        let path = viewer.event("connected")?["path"] as? String ?? ""
        #expect(path.hasPrefix("relayed, "), "\(path)")
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    @Test func linksHaveThePublicAddress() throws {
        let relay = try Relay(["--accept", "any", "--public", "198.51.100.7"])
        #expect(URL(string: relay.link)?.host == "198.51.100.7", "\(relay.link)")
        relay.process.interrupt()
        #expect(relay.process.exitCode() == 0)
    }

    @Test func badArgumentsAreToldWithoutACrash() throws {
        let folder = try TemporaryFolder()
        let token = folder.file("token")
        try "short".write(toFile: token, atomically: true, encoding: .utf8)
        for (arguments, words) in [
            (["relay"], "no terminal to ask in"),
            (["relay", "--accept", "any", "--publish-token", token], "the token"),
            (["relay", "--accept", "any", "--publish-token", folder.file("none")], "cannot be read"),
            (["relay", "--accept", "any", "--max-viewers", "0"], "--max-viewers"),
            (["relay", "--accept", "any", "--relay-only"], "--relay-only"),
            (["relay", "--accept", "any", "--listen", "nowhere"], "--listen"),
            (["relay", "--accept", "any", "--media", "nowhere"], "--media is ADDR:PORT"),
            (["relay", "--accept", "any", "--media", "relay.example:3478"], "--media needs a numeric address"),
            (["relay", "--accept", "any", "--turn-secret", token], "has no secret of 16"),
            (["relay", "--accept", "any", "--turn", "turn:127.0.0.1"], "the TURN server's credential is missing"),
            (["relay", "--accept", "any", "--metrics", "nowhere"], "--metrics is ADDR:PORT"),
            (["relay", "--accept", "any", "--public", "relay.example"], "--public is a numeric address"),
            (["relay", "--accept", "any", "--listen", "127.0.0.1:0", "--media", "198.51.100.77:0"], "no UDP socket"),
            (["host", "--relay", "https://example.com/", "--source", "test", "--accept", "any"], "Copy it again"),
            (["host", "--relay", "https://example.com/", "--source", "test"], "no terminal to ask in"),
            (
                ["host", "--relay", "x", "--route", "direct", "--accept", "any", "--token", "a-token-of-twenty-chars"],
                "would let the relay watch"
            ),
            (["host", "--relay", "x", "--route", "nowhere"], "--route"),
            (["host", "--relay", "x", "--preferred-extension", "y"], "exclude each other"),
        ] {
            let program = try ShareProcess(arguments, in: folder)
            let code = program.exitCode() ?? 0
            #expect((64...78).contains(code) && program.errorText.contains(words), "\(arguments): \(program.errorText)")
        }
    }
}
