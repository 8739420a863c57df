import Foundation
import TestSupport
import Testing

/// Several `share relay` and a NATS server, as an operator runs them.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ClusterVerbTests {
    private final class Relay {
        let process: ShareProcess
        let link: String
        private let folder: TemporaryFolder

        convenience init(_ node: String, _ cluster: String, _ arguments: [String] = []) throws {
            try self.init(node, cluster, arguments, at: "127.0.0.1:0", in: try TemporaryFolder())
        }

        private init(
            _ node: String, _ cluster: String, _ arguments: [String], at place: String, in folder: TemporaryFolder
        ) throws {
            self.folder = folder
            process = try ShareProcess(
                ["relay", "--listen", place, "--json", "--accept", "any", "--cluster", cluster, "--node", node]
                    + arguments,
                in: folder)
            link = try #require(process.event("link")?["link"] as? String, "\(process.errorText)")
        }

        /// The same relay, started anew after its end.
        func again(_ node: String, _ cluster: String) throws -> Relay {
            let port = try #require(URL(string: link)?.port)
            return try Relay(node, cluster, [], at: "127.0.0.1:\(port)", in: folder)
        }

        /// What `share list` shows of it.
        func listed() throws -> [String: Any]? {
            let list = try ShareProcess(["list", "--relay", link, "--json"])
            _ = list.exitCode()
            guard let line = list.lines.first else { return nil }
            return try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        }

        func waitFor(_ node: String) -> Bool {
            process.event("relay-joined") { $0["node"] as? String == node } != nil
        }
    }

    private func host(
        _ relay: Relay, route: String = "relay", _ arguments: [String] = ["--accept", "any"],
        hasJobControl: Bool = false
    ) throws -> Terminal {
        let all =
            ["host", "--relay", hasJobControl ? "'\(relay.link)'" : relay.link, "--route", route, "--source", "test"]
            + (route == "relay" ? ["--relay-may-watch"] : []) + ["--listed", "--name", "Budget"] + arguments
        let host = hasJobControl ? try Terminal(shell: all) : try Terminal(all)
        _ = try #require(relay.process.event("listed"), "\(relay.process.errorText)")
        return host
    }

    private func watch(_ link: String, _ more: [String] = []) throws -> ShareProcess {
        try ShareProcess(["join", "--headless", "--json"] + more, environment: ["SHARE_LINK": link])
    }

    /// Waits until a viewer has got so many frames more.
    private func plays(_ viewer: ShareProcess, frames more: Int = 30) -> Bool {
        let known = viewer.frames
        return viewer.event("statistics") { ($0["frames"] as? Int ?? 0) > known + more } != nil
    }

    /// The link of the broadcast at another relay, when that has heard of it.
    private func link(at relay: Relay) throws -> String {
        for _ in 0..<100 { if let link = try relay.listed()?["link"] as? String { return link } }
        throw Program.Failure("the broadcast is not listed: \(relay.process.errorText)")
    }

    /// The operator sees why, and what to do; the relay goes on trying, also after libnats has given up.
    @Test func aClusterThatCannotBeReachedIsExplained() throws {
        let authority = try CertificateAuthority()
        let own = try authority.issue("IP:127.0.0.1")
        let server = try NATSServer([
            "--tls", "--tlscert", own.chain, "--tlskey", own.key, "--user", "relay", "--pass", "right",
        ])
        func reason(_ user: String, _ more: [String] = []) throws -> (Relay, String) {
            let relay = try Relay("eu-1", "tls://\(user)@127.0.0.1:\(server.port)", more)
            let event = try #require(relay.process.event("cluster-lost"), "\(relay.process.errorText)")
            return (relay, try #require(event["reason"] as? String))
        }
        let (untrusted, first) = try reason("relay:right")
        #expect(first.contains("unable to get local issuer certificate") && !first.contains("right"), "\(first)")
        #expect(untrusted.process.waitForError("--cluster-tls CA.PEM"), "\(untrusted.process.errorText)")
        let (refused, second) = try reason("relay:wrong", ["--cluster-tls", authority.file])
        #expect(second.contains("Authorization Violation") && !second.contains("wrong"), "\(second)")
        #expect(refused.process.waitForError("Look at the user and password"))
        server.end()
        // The same port with the other password.
        let other = try NATSServer(
            port: server.port,
            ["--tls", "--tlscert", own.chain, "--tlskey", own.key, "--user", "relay", "--pass", "wrong"])
        #expect(refused.process.event("cluster-connected") != nil, "\(refused.process.errorText)")
        other.end()
    }

    @Test func viewersWatchAtAnyRelay() throws {
        let server = try NATSServer()
        let (a, b, c) = (try Relay("a", server.url), try Relay("b", server.url), try Relay("c", server.url))
        #expect(a.waitFor("b") && a.waitFor("c") && b.waitFor("a") && c.waitFor("a"))
        let host = try host(a, ["--accept", "any", "--json"])
        let (linkB, linkC) = (try link(at: b), try link(at: c))
        #expect(linkB != linkC && URL(string: linkB)?.path == URL(string: linkC)?.path)
        let (first, second, other) = (try watch(linkB), try watch(linkB), try watch(linkC))
        for viewer in [first, second, other] {
            #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        }
        #expect(b.process.event("fetched")?["node"] as? String == "a")
        // One copy for both, and the people are counted, not the relays.
        #expect(host.waitUntil { $0.contains("\"viewers\":3") }, "\(host.screen())")

        // Without NATS all that runs goes on, and is found again later.
        server.end()
        #expect(a.process.event("cluster-lost") != nil && b.process.event("cluster-lost") != nil)
        #expect(plays(first) && plays(other))
        // Also when none hears of the others any more.
        #expect(b.process.event("relay-left") { $0["node"] as? String == "a" } != nil)
        #expect(c.process.event("relay-left") { $0["node"] as? String == "a" } != nil)
        #expect(plays(first, frames: 90) && plays(other, frames: 90))
        let restarted = try NATSServer(port: server.port)
        #expect(b.process.waitForError("connected to the cluster", times: 2))
        // The directory is whole again.
        for (relay, others) in [(a, ["b", "c"]), (b, ["a", "c"]), (c, ["a", "b"])] {
            for node in others { #expect(relay.process.waitForError("relay \(node) is there", times: 2)) }
        }
        #expect(try link(at: b) == linkB && link(at: c) == linkC)

        // No other relay's viewers notice the end of one.
        b.process.kill()
        #expect(plays(other))
        // They had lost each other before.
        #expect(a.process.waitForError("relay b has gone", times: 2))
        try host.type("C-c")
        #expect(other.event("ended")?["code"] as? String == "hostEnded")
        restarted.end()
    }

    /// The publisher and its relay die: the others, which have the broadcast too, do not get it from each other for
    /// ever.
    @Test func whatNobodyPublishesEndsAtAllRelays() throws {
        let server = try NATSServer()
        let (a, b, c) = (try Relay("a", server.url), try Relay("b", server.url), try Relay("c", server.url))
        #expect(a.waitFor("b") && a.waitFor("c") && b.waitFor("a") && b.waitFor("c"))
        #expect(c.waitFor("a") && c.waitFor("b"))
        let host = try host(a, hasJobControl: true)
        let viewers = [try watch(try link(at: b)), try watch(try link(at: c))]
        for viewer in viewers { #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)") }
        // The viewers of all relays are told when the host is not heard for a moment.
        try host.type("C-z")
        #expect(host.waitUntil { $0.contains("Stopped") }, "\(host.screen())")
        for viewer in viewers { #expect(viewer.event("publisher-interrupted") != nil, "\(viewer.errorText)") }
        try host.type("fg", "Enter")
        for viewer in viewers { #expect(viewer.event("publisher-resumed") != nil, "\(viewer.errorText)") }
        // It can go on nowhere.
        try host.type("C-z")
        a.process.kill()
        for viewer in viewers { #expect(viewer.event("ended", seconds: 60) != nil, "\(viewer.errorText)") }
    }

    /// The relay of a host that is met there dies while it sends: it goes on at another one, with those who watch.
    @Test func whatAMetHostPublishesGoesOnAtAnotherRelay() throws {
        let server = try NATSServer()
        let (a, b) = (try Relay("a", server.url), try Relay("b", server.url))
        #expect(a.waitFor("b") && b.waitFor("a"))
        let host = try host(a, route: "auto", ["--accept", "any", "--direct-viewers", "0"])
        let link = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        let viewers = [try watch(link), try watch(link)]
        #expect(a.process.event("viewers") { $0["viewers"] as? Int == 2 } != nil)
        for viewer in viewers { #expect(plays(viewer), "\(viewer.errorText)") }
        a.process.kill()
        goOn(viewers)
        #expect(host.waitUntil { $0.contains("going on at the relay at") }, "\(host.screen())")
        try host.type("C-c")
        for viewer in viewers { #expect(viewer.event("ended") != nil) }
    }

    /// `--route relay`: the relay of the link is killed. Newcomers join at another relay of its cluster, whose link the
    /// host tells, and with the first link when its relay has started anew. Nobody is asked twice, and viewers stay.
    @Test func newcomersJoinWithoutTheRelayOfTheLink() throws {
        let server = try NATSServer()
        let (a, b) = (try Relay("a", server.url), try Relay("b", server.url))
        #expect(a.waitFor("b") && b.waitFor("a"))
        let folder = try TemporaryFolder()
        let host = try ShareProcess(
            ["host", "--relay", a.link, "--route", "relay", "--source", "test", "--accept", "any", "--json"],
            in: folder)
        let first = try #require(host.event("link")?["link"] as? String, "\(host.errorText)")
        let ann = try watch(first)
        #expect(plays(ann), "\(ann.errorText)")
        a.process.kill()
        let changed = try #require(host.event("link-changed", seconds: 60), "\(host.errorText)")
        let second = try #require(changed["link"] as? String)
        #expect(changed["first"] as? Bool == false && second != first)
        #expect(host.waitForError("until the first relay is back: \(second)"), "\(host.errorText)")
        let bob = try watch(second)
        #expect(plays(bob), "\(bob.errorText)")
        #expect(plays(ann), "\(ann.errorText)")
        let status = try ShareProcess(["status", "--qr"], in: folder)
        _ = status.exitCode()
        #expect(status.lines.contains { $0.contains(second) }, "\(status.lines) \(status.errorText)")
        let again = try a.again("a", server.url)
        let back = try #require(
            host.event("link-changed", seconds: 60) { $0["first"] as? Bool == true }, "\(host.errorText)")
        #expect(back["link"] as? String == first)
        let carl = try watch(first)
        #expect(plays(carl), "\(carl.errorText) \(again.process.errorText)")
        for viewer in [ann, bob] {
            #expect(plays(viewer), "\(viewer.errorText)")
            #expect(viewer.event("ended", seconds: 0.1) == nil)
        }
        host.requestEnd()
        for viewer in [ann, bob, carl] { #expect(viewer.event("ended")?["code"] as? String == "hostEnded") }
    }

    /// Of all viewers, as they have got so many frames more at another relay.
    private func goOn(_ viewers: [ShareProcess]) {
        for viewer in viewers {
            #expect(viewer.waitForError("trying the relay at"), "\(viewer.errorText)")
            #expect(plays(viewer, frames: 60), "\(viewer.errorText)")
        }
    }

    /// The longest time without a frame, as the viewer says, in ms.
    private func longestGap(_ viewer: ShareProcess) -> Double {
        viewer.lines.compactMap { line in
            let event = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            return event?["longestGapMs"] as? Double
        }.max() ?? 0
    }

    /// The relay that the publisher sends to, and that of some viewers, is killed: the broadcast goes on at the others,
    /// under the same identifier, and nobody is asked again.
    @Test func whoWasAtAKilledRelayGoesOnAtAnother() throws {
        let server = try NATSServer()
        let (a, b, c) = (try Relay("a", server.url), try Relay("b", server.url), try Relay("c", server.url))
        #expect(a.waitFor("b") && a.waitFor("c") && b.waitFor("a") && c.waitFor("a") && b.waitFor("c"))
        let host = try host(a, [])
        let (linkA, linkB) = (try link(at: a), try link(at: b))
        let ann = try watch(linkA, ["--name", "Ann"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Ann") }, "\(host.screen())")
        try host.type("y")
        let bob = try watch(linkB, ["--name", "Bob"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Bob") }, "\(host.screen())")
        try host.type("y")
        #expect(ann.event("first-picture") != nil && bob.event("first-picture") != nil)
        #expect(plays(ann) && plays(bob))
        a.process.kill()
        goOn([ann])
        #expect(plays(bob, frames: 60))
        #expect(host.waitUntil { $0.contains("going on at the relay at") }, "\(host.screen())")
        for viewer in [ann, bob] {
            #expect(longestGap(viewer) < 5_000)
            #expect(viewer.event("ended", seconds: 0.1) == nil)
        }
        // It is listed where it is now, under its old identifier.
        let id = try #require(URL(string: linkA)?.path)
        var found: Relay?
        #expect(
            eventually {
                found = [b, c].first { $0.process.event("listed", seconds: 0) != nil }
                return found != nil
            })
        let survivor = try #require(found)
        #expect(try link(at: survivor).contains(id))
        // A viewer of the relay that has it now.
        survivor.process.kill()
        #expect(plays(ann, frames: 90) && plays(bob, frames: 90))
        try host.type("C-c")
        #expect(ann.event("ended")?["code"] as? String == "hostEnded", "\(ann.errorText)")
        #expect(bob.event("ended")?["code"] as? String == "hostEnded", "\(bob.errorText)")
    }

    /// An upgrade: the relay sends its publisher and its viewers to others before it ends.
    @Test func aRelayThatStopsMovesItsPublisherAndItsViewers() throws {
        let server = try NATSServer()
        let (a, b) = (try Relay("a", server.url, ["--drain", "1m"]), try Relay("b", server.url))
        #expect(a.waitFor("b") && b.waitFor("a"))
        let host = try host(a)
        let (ann, bob) = (try watch(try link(at: a)), try watch(try link(at: b)))
        #expect(ann.event("first-picture") != nil && bob.event("first-picture") != nil)
        #expect(plays(ann) && plays(bob))
        a.process.requestEnd()
        goOn([ann])
        #expect(plays(bob, frames: 60))
        // It ends when all have gone, long before the minute is over.
        #expect(a.process.exitCode() == 0)
        #expect(longestGap(ann) < 2_000 && longestGap(bob) < 2_000)
        #expect(host.waitUntil { $0.contains("going on at the relay at") }, "\(host.screen())")
        let carl = try watch(try link(at: b))
        #expect(carl.event("first-picture") != nil, "\(carl.errorText)")
    }

    /// The publisher's pause reaches those who watch at its relay, and at another one that fetches it from there.
    @Test func aPauseReachesTheViewersOfAllRelays() throws {
        let server = try NATSServer()
        let (a, b) = (try Relay("a", server.url), try Relay("b", server.url))
        #expect(a.waitFor("b") && b.waitFor("a"))
        let host = try host(a)
        let (ann, bob) = (try watch(try link(at: a)), try watch(try link(at: b)))
        for viewer in [ann, bob] { #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)") }
        func control(_ verb: String) throws {
            let control = try ShareProcess([verb], in: host.hostFolder)
            #expect(control.exitCode() == 0, "\(control.errorText)")
        }
        try control("pause")
        for viewer in [ann, bob] { #expect(viewer.event("paused") != nil, "\(viewer.errorText)") }
        // Whoever comes during the pause is told, too.
        let carl = try watch(try link(at: b))
        #expect(carl.event("paused") != nil, "\(carl.errorText)")
        // A blank frame is media like any other, and the last word of the host counts.
        try control("blank")
        for viewer in [ann, bob, carl] {
            #expect(viewer.event("paused") { $0["hold"] as? String == "blank" } != nil, "\(viewer.errorText)")
        }
        let dora = try watch(try link(at: b))
        #expect(dora.event("first-picture") != nil, "\(dora.errorText)")
        try control("unblank")
        try control("resume")
        for viewer in [ann, bob, carl] {
            #expect(viewer.event("resumed") != nil, "\(viewer.errorText)")
            #expect(plays(viewer), "\(viewer.errorText)")
        }
    }

    @Test func theHostDecidesAboutViewersOfOtherRelays() throws {
        let server = try NATSServer()
        let (a, b) = (try Relay("a", server.url), try Relay("b", server.url))
        #expect(a.waitFor("b") && b.waitFor("a"))
        let host = try host(a, [])
        let link = try link(at: b)
        let bob = try watch(link, ["--name", "Bob"])
        let words = try #require(bob.event("knock")?["words"] as? String)
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Bob") }, "\(host.screen())")
        #expect(host.screen().contains(words))
        try host.type("n")
        #expect(bob.exitCode() == 77)
        let ann = try watch(link, ["--name", "Ann"])
        _ = try #require(host.waitFor { $0.takesAnswer(about: "Ann") }, "\(host.screen())")
        try host.type("y")
        #expect(ann.event("first-picture") != nil, "\(ann.errorText)")
    }

    /// A relay starts without NATS, and joins the others when it is there.
    @Test func natsMayComeLater() throws {
        let port = try NATSServer().port
        let a = try Relay("a", "nats://127.0.0.1:\(port)")
        #expect(a.process.event("cluster-lost") != nil && a.process.waitForError("no connection to the cluster"))
        let server = try NATSServer(port: port)
        #expect(a.process.event("cluster-connected") != nil)
        let b = try Relay("b", server.url)
        #expect(a.waitFor("b") && b.waitFor("a"))
        // A relay that ends tells the others.
        b.process.requestEnd()
        #expect(a.process.event("relay-left") != nil)
        let twin = try Relay("a", server.url)
        #expect(a.process.waitForError("has this one's name") && twin.process.waitForError("has this one's name"))
    }

    @Test(arguments: [
        (["--cluster", "http://127.0.0.1"], "as nats://"), (["--cluster", "nats://"], "--cluster"),
        (["--node", "a"], "need --cluster"), (["--cluster", "nats://127.0.0.1:1", "--node", "A B"], "--node is"),
        (["--cluster", "nats://127.0.0.1:1", "--cluster-tls", "/nonexistent.pem"], "/nonexistent.pem"),
    ])
    func whatCannotBeUsedIsSaid(_ arguments: [String], _ text: String) throws {
        let relay = try ShareProcess(["relay", "--listen", "127.0.0.1:0", "--accept", "any"] + arguments)
        #expect(relay.exitCode() == 64)
        #expect(relay.errorText.contains(text), "\(relay.errorText)")
    }

    @Test func theDemoSaysWhatViewersNotice() throws {
        let demo = try ShareProcess(["demo", "--relay", "--viewers", "6", "--for", "6s"], of: "share-lab")
        #expect(demo.exitCode(seconds: 90) == 0, "\(demo.errorText)")
        let lines = demo.lines
        #expect(lines.count == 12, "\(lines)")
        #expect(lines.count { $0.contains("2 of 2 viewers watch") } == 9, "\(lines)")
    }

    @Test func theDirectoriesOfThreeRelaysAgree() throws {
        let bench = try ShareProcess(["bench", "directory", "--cluster", "--broadcasts", "300"], of: "share-lab")
        #expect(bench.exitCode(seconds: 60) == 0, "\(bench.errorText)")
        let lines = bench.lines
        #expect(lines.first?.hasPrefix("known to all three    300 in ") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("death of one noticed  ") == true, "\(lines)")
    }
}
