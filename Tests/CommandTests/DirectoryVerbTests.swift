import Foundation
import TestSupport
import Testing

/// `share list`, and hosts that want to be listed.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct DirectoryVerbTests {
    private func relay(_ arguments: [String] = []) throws -> (ShareProcess, link: String) {
        let process = try ShareProcess(
            ["relay", "--listen", "127.0.0.1:0", "--media", "127.0.0.1:0", "--accept", "any", "--json"] + arguments)
        return (process, try #require(process.event("link")?["link"] as? String, "\(process.errorText)"))
    }

    private func list(_ link: String, _ arguments: [String] = []) throws -> (
        lines: [String], words: String, code: Int32?
    ) {
        let process = try ShareProcess(["list", "--relay", link] + arguments)
        let code = process.exitCode()
        return (process.lines, process.errorText, code)
    }

    /// Both routes: over the relay, and met there.
    @Test(arguments: ["relay", "direct"])
    func aBroadcastIsListedAsLongAsItRuns(route: String) throws {
        let (relay, link) = try relay(["--region", "eu-west"])
        try #expect(list(link).words.contains("nothing is listed"))
        let host = try Terminal([
            "host", "--relay", link, "--route", route, "--listed", "--title", "The keynote", "--source", "test",
            "--accept",
            "any", "--name", "Budget",
        ])
        #expect(relay.event(route == "relay" ? "live" : "meeting-opened") != nil, "\(relay.errorText)")
        #expect(relay.event("listed")?["title"] as? String == "The keynote")
        var lines: [String] = []
        let isListed = try eventually {
            lines = try list(link, ["--json"]).lines
            return lines.count == 1
        }
        #expect(isListed, "\(lines)")
        let text = Data((lines.first ?? "").utf8)
        let entry = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect(entry["title"] as? String == "The keynote" && entry["route"] as? String == route)
        #expect(entry["region"] as? String == "eu-west" && entry["encrypted"] as? Bool == true)
        let watched = try #require(entry["link"] as? String)
        let viewer = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": watched])
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        let found = try list(link, ["--app", "io.sharekit.share"]).lines
        let line = try #require(found.first)
        #expect(line.contains("\"The keynote\"") && line.hasSuffix(watched))
        // A host that is met reports how many watch a moment later.
        let isCounted = try eventually { try list(link).lines.first?.hasPrefix("1 viewer  ") == true }
        #expect(isCounted)
        try #expect(list(link, ["--app", "com.example.other"]).lines.isEmpty)
        try host.type("C-c")
        #expect(relay.event(route == "relay" ? "closed" : "meeting-closed") != nil)
        #expect(try eventually { try list(link).lines.isEmpty })
    }

    @Test func aHostIsNotListedUnlessItSaysSo() throws {
        let (relay, link) = try relay()
        let host = try Terminal(["host", "--relay", link, "--route", "relay", "--source", "test", "--accept", "any"])
        let own = try #require(host.waitFor { $0.firstLink }, "\(host.screen())")
        #expect(relay.event("live") != nil)
        let viewer = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": own])
        #expect(viewer.event("first-picture") != nil)
        try #expect(list(link).lines.isEmpty)
    }

    @Test func aRelayWithoutADirectorySaysSo() throws {
        let (relay, link) = try relay(["--no-directory"])
        let (lines, words, code) = try list(link)
        #expect(lines.isEmpty && words.contains("this relay lists no broadcasts") && code == 68)
        let host = try Terminal([
            "host", "--relay", link, "--route", "relay", "--listed", "--source", "test", "--accept", "any",
        ])
        #expect(host.waitUntil { $0.contains("does not list this broadcast") }, "\(host.screen())")
        #expect(relay.isRunning)
    }

    @Test func badArgumentsAreTold() throws {
        for arguments in [["--listed"], ["--relay", "x", "--title", "y"]] {
            let host = try ShareProcess(["host"] + arguments)
            #expect(host.exitCode() == 64 && host.errorText.contains("--listed"), "\(arguments)")
        }
        try #expect(list("https://127.0.0.1:1/nothing").code == 65)
    }
}
