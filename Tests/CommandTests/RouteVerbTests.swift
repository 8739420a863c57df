import Foundation
import TestSupport
import Testing

/// `share host --relay LINK` as a person uses it without choosing a route.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RouteVerbTests {
    private struct Stage {
        let folder: TemporaryFolder
        let relay: ShareProcess
        let host: Terminal
        let link: String

        init(_ arguments: [String]) throws {
            folder = try TemporaryFolder()
            relay = try ShareProcess(["relay", "--listen", "127.0.0.1:0", "--json", "--accept", "any"], in: folder)
            let place = try #require(relay.event("link")?["link"] as? String, "\(relay.errorText)")
            host = try Terminal(["host", "--relay", place, "--source", "test", "--name", "Budget"] + arguments)
            // The relay's link is the user's word: what follows from it is said, and nothing is asked.
            link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        }

        func watch(_ name: String) throws -> ShareProcess {
            try ShareProcess(
                ["join", "--headless", "--json", "--name", name], environment: ["SHARE_LINK": link])
        }
    }

    /// Waits until a viewer has had two connections.
    private func hasMoved(_ viewer: ShareProcess) -> Bool {
        var connections = 0
        _ = viewer.event("connected") { _ in
            connections += 1
            return connections == 2
        }
        return connections == 2
    }

    @Test func theFirstViewerIsSentToDirectlyAndAllOverTheRelayWhenThereAreMore() throws {
        let stage = try Stage(["--direct-viewers", "1"])
        #expect(stage.host.screen().contains("With more than 1 viewer, or one whom nothing else reaches, it gets"))
        let ann = try stage.watch("Ann")
        _ = try #require(stage.host.waitFor { $0.takesAnswer(about: "Ann") }, "\(stage.host.screen())")
        try stage.host.type("y")
        #expect(ann.event("first-picture") != nil, "\(ann.errorText)")
        #expect(stage.relay.event("live", seconds: 0.1) == nil)
        // The second is asked about, too, and comes from the host first.
        let bob = try stage.watch("Bob")
        _ = try #require(stage.host.waitFor { $0.takesAnswer(about: "Bob") }, "\(stage.host.screen())")
        try stage.host.type("y")
        #expect(bob.event("first-picture") != nil, "\(bob.errorText)")
        let live = try #require(stage.relay.event("live"), "\(stage.relay.errorText)")
        #expect(stage.relay.event("viewers") { $0["viewers"] as? Int == 2 } != nil)
        #expect(stage.host.waitUntil { $0.contains("sends to the viewers from now on, but cannot watch") })
        for viewer in [ann, bob] {
            #expect(hasMoved(viewer), "\(viewer.lines)")
            let known = viewer.lines.count { $0.contains("\"event\":\"statistics\"") }
            // The reports that cover the change, and one more.
            var reports = 0
            var gaps: [Double] = []
            _ = viewer.event("statistics") { event in
                reports += 1
                if let gap = event["longestGapMs"] as? Double { gaps.append(gap) }
                return reports >= known + 2
            }
            #expect((gaps.max() ?? .infinity) < 700, "\(gaps)")
        }
        // They have not gone for the host.
        #expect(stage.host.waitUntil { $0.contains("to \"Relay\", 2 viewers") }, "\(stage.host.screen())")
        #expect(stage.host.waitUntil { $0.contains("\"Bob\" (share, 127.0.0.1) watches at the relay from now on") })
        #expect(!stage.host.screen().contains("has gone") && !stage.host.screen().contains("has left"))
        // Nobody is asked twice, and the relay's own link admits nobody, as only the host gives the keys.
        let eve = try ShareProcess(
            ["join", "--headless", "--json", "--name", "Eve"],
            environment: ["SHARE_LINK": try #require(live["link"] as? String)])
        #expect(eve.exitCode() == 77 && eve.errorText.contains("ask for the host's own link"), "\(eve.errorText)")
        #expect(!stage.host.screen().contains("Eve"))
        try stage.host.type("C-c")
        #expect(ann.event("ended")?["code"] as? String == "hostEnded" && bob.event("ended") != nil)
        #expect(stage.relay.event("meeting-closed") != nil)
    }

    /// The relay dies while it sends: the viewers are told, and the host goes on.
    @Test func theHostSurvivesTheRelay() throws {
        let stage = try Stage(["--direct-viewers", "1", "--accept", "any"])
        let viewers = [try stage.watch("Ann"), try stage.watch("Bob")]
        #expect(stage.relay.event("viewers") { $0["viewers"] as? Int == 2 } != nil)
        for viewer in viewers { #expect(hasMoved(viewer)) }
        stage.relay.kill()
        for viewer in viewers {
            let code = viewer.exitCode(seconds: 60) ?? 0
            #expect((64...78).contains(code), "\(viewer.errorText)")
        }
        #expect(
            stage.host.waitUntil { $0.contains("this machine sends to each viewer again") }, "\(stage.host.screen())")
        try stage.host.type("C-c")
        #expect(stage.host.waitUntil { $0.contains("ended by") }, "\(stage.host.screen())")
    }

    /// The host's own link, its question and its encryption; the relay's traffic.
    @Test func theRelaySendsToAllFromTheFirstViewerOn() throws {
        let stage = try Stage(["--route", "relay"])
        #expect(stage.host.screen().contains("it is encrypted for them, so the relay cannot watch"))
        #expect(stage.host.waitUntil { $0.contains("sends to the viewers from now on, but cannot watch") })
        let live = try #require(stage.relay.event("live"), "\(stage.relay.errorText)")
        #expect(live["link"] as? String != stage.link)
        let ann = try stage.watch("Ann")
        _ = try #require(stage.host.waitFor { $0.takesAnswer(about: "Ann") }, "\(stage.host.screen())")
        try stage.host.type("y")
        #expect(ann.event("redirected")?["encrypted"] as? Bool == true, "\(ann.errorText)")
        #expect(ann.event("first-picture") != nil, "\(ann.errorText)")
        #expect(stage.host.waitUntil { $0.contains("to \"Relay\", 1 viewer, encrypted") }, "\(stage.host.screen())")
        let status = try ShareProcess(["status", "--json"], in: stage.host.hostFolder)
        #expect(status.exitCode() == 0 && status.lines.first?.contains("\"encrypted\":true") == true, "\(status.lines)")
        let viewers = try ShareProcess(["viewers"], in: stage.host.hostFolder)
        #expect(viewers.exitCode() == 0)
        let ofAnn = viewers.lines.filter { $0.contains("\"Ann\"") }
        #expect(ofAnn.count == 1 && ofAnn[0].contains("over the relay"), "\(viewers.lines)")
        // A recorder is a viewer, and its file is in clear.
        let file = stage.folder.file("a.webm")
        let recorder = try ShareProcess(
            ["record", "--json", "-o", file, "--for", "3", "--name", "Rec"], environment: ["SHARE_LINK": stage.link])
        _ = try #require(stage.host.waitFor { $0.takesAnswer(about: "Rec") }, "\(stage.host.screen())")
        try stage.host.type("y")
        #expect(recorder.exitCode() == 0, "\(recorder.errorText)")
        let media = try MediaProbe(file)
        #expect(media.streams.first == "vp8" && media.duration > 2.5)
        #expect(try media.decodingErrors() == "")
        // A foreign player with the relay's own link is told why it gets nothing.
        let page = try #require((live["link"] as? String)?.split(separator: "#").first)
        let player = try Program(
            "curl",
            ["-sk", "-w", "\n%{http_code}", "-X", "POST", "-H", "Content-Type: application/sdp"]
                + ["-d", "v=0", "\(page)/whep"])
        #expect(player.exitCode(seconds: 20) == 0)
        #expect(player.text.output.hasSuffix("\n403") && player.text.output.contains("encrypted from end to end"))
        let removal = try ShareProcess(["remove", "Ann"], in: stage.host.hostFolder)
        #expect(removal.exitCode() == 0, "\(removal.errorText)")
        #expect(ann.event("ended")?["code"] as? String == "removed")
        try stage.host.type("C-c")
        #expect(stage.relay.event("meeting-closed") != nil)
    }

    @Test func optionsThatDoNotFitAreRefused() throws {
        let folder = try TemporaryFolder()
        for (arguments, words) in [
            (["--direct-viewers", "31"], "--direct-viewers is 0 to 30"),
            (["--relay", "x", "--route", "direct", "--direct-viewers", "2"], "is for --relay with --route auto"),
            (["--direct-viewers", "2"], "is for --relay with --route auto"),
            (["--relay", "x", "--route", "direct", "--relay-may-watch"], "--relay-may-watch is for --relay with"),
            (["--relay-may-watch"], "--relay-may-watch is for --relay with"),
            (["--relay", "x", "--token", "a-token-of-twenty-chars"], "would let the relay watch"),
            (["--relay", "x", "--route", "relay", "--token", "a-token-of-twenty-chars"], "all watch at the relay"),
        ] {
            let program = try ShareProcess(["host", "--source", "test", "--accept", "any"] + arguments, in: folder)
            #expect(program.exitCode() == 64 && program.errorText.contains(words), "\(program.errorText)")
        }
    }
}
