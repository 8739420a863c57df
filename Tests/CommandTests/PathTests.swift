import Foundation
import TestSupport
import Testing

/// Network paths of the media: server options, messages when there is no path, and `share doctor`.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct PathTests {
    private static let host = ["--source", "test", "--audio", "none"]

    private func run(_ arguments: [String], environment: [String: String] = [:], input: String? = nil) throws
        -> (code: Int32?, output: String, words: String)
    {
        let process = try ShareProcess(arguments, environment: environment, input: input)
        let code = process.exitCode(seconds: 60)
        return (code, process.lines.joined(separator: "\n"), process.errorText)
    }

    /// The host may only send through TURN, and the TURN server rejects its credential.
    @Test func aFailedConnectionIsExplained() throws {
        let relay = try LoopbackTURNServer(password: "another")
        let secret = "cr3dential-of-nobody"
        let host = try HostedScreen(
            Self.host + ["--relay-only", "--turn", relay.url()], environment: ["SHARE_TURN_CREDENTIAL": secret])
        let viewer = try host.join()
        let ended = try #require(viewer.event("ended", seconds: 50), "\(viewer.errorText)")
        #expect(viewer.exitCode() == 68)
        #expect(ended["code"] as? String == "noRoute")
        let words = viewer.errorText
        #expect(words.contains("no route: your side has only ") && words.contains("127.0.0.1"), "\(words)")
        #expect(words.contains("the host named none"), "\(words)")
        #expect(words.contains("turn:127.0.0.1:\(relay.port)?transport=udp does not accept the user name"), "\(words)")
        #expect((ended["remedy"] as? String)?.contains("SHARE_TURN_CREDENTIAL") == true)
        let own = try #require(ended["ownCandidates"] as? [[String: Any]])
        #expect(own.contains { $0["kind"] as? String == "host" && $0["address"] as? String == "127.0.0.1" })
        #expect((ended["otherCandidates"] as? [Any])?.isEmpty == true)
        #expect((ended["servers"] as? [[String: Any]])?.first?["finding"] is String)
        // The host reports the reason, too, and no output contains the credential.
        #expect(host.process.event("viewer-left")?["code"] as? String == "noRoute")
        let list = try Program("ps", ["-ww", "-eo", "args"]).finish()
        for text in [words, host.process.errorText, list, host.process.lines.joined(), viewer.lines.joined()] {
            #expect(!text.contains(secret))
        }
    }

    @Test(arguments: [
        ["--turn", "turn:alice:secret@host"], ["--turn", "turn:host"], ["--turn", "http://alice@host"],
        ["--turn", "turn:alice@host:99999"], ["--stun", "a b"], ["--stun", "turn:host"], ["--turn", "turn:@host"],
    ])
    func serversThatCannotBeReadAreRefused(_ arguments: [String]) throws {
        for command in [["host", "--accept", "any"] + Self.host, ["join", "--headless"]] {
            let result = try run(command + arguments, environment: ["SHARE_TURN_CREDENTIAL": "x"])
            #expect(result.code == 64)
            #expect(!result.words.contains("secret"))
        }
    }

    @Test func aTURNServerWantsACredential() throws {
        let result = try run(
            ["host", "--accept", "any", "--turn", "turn:alice@127.0.0.1"] + Self.host,
            environment: ["SHARE_TURN_CREDENTIAL": ""])
        #expect(result.code == 64)
        #expect(result.words.contains("SHARE_TURN_CREDENTIAL"))
    }

    @Test func theDoctorChecksEachStepToTheHost() throws {
        let relay = try LoopbackTURNServer(password: "secret")
        let host = try HostedScreen(Self.host)
        let servers = ["--stun", "127.0.0.1:\(relay.port)", "--turn", relay.url(), "--turn", relay.url("tcp")]
        let good = try run(
            ["doctor", "--link", "-"] + servers, environment: ["SHARE_TURN_CREDENTIAL": "secret"],
            input: host.link + "\n")
        #expect(good.code == 0, "\(good.output)")
        for subject in ["name", "tcp", "certificate", "broadcast", "media", "stun", "turn"] {
            #expect(good.output.contains("ok      \(subject) "), "\(subject) in \(good.output)")
        }
        // The check caused no knock.
        #expect(!host.process.lines.contains { $0.contains("\"knock\"") })

        let refused = try run(
            ["doctor", "--link", "-"] + servers, environment: ["SHARE_TURN_CREDENTIAL": "wrong"],
            input: host.link + "\n")
        #expect(refused.code == 1)
        #expect(refused.output.contains("fails   turn") && refused.output.contains("-> check USER"))

        host.process.kill()
        let gone = try run(["doctor", "--link", "-"], input: host.link + "\n")
        #expect(gone.code == 1)
        #expect(gone.output.contains("nothing listens at port") && gone.output.contains("-> "))
        #expect(try run(["doctor", "--link", "nonsense"]).code == 65)
    }

    @Test func statisticsAreALineASecond() throws {
        let host = try HostedScreen(Self.host + ["--stats"])
        let viewer = try host.join(["--stats", "--for", "4"])
        #expect(viewer.exitCode(seconds: 40) == 0)
        let seen = viewer.errorText.split(separator: "\n").filter { $0.hasPrefix("stats: ") }
        #expect(seen.count >= 2)
        for word in [
            "rtt ", "loss ", "estimate ", "received ", "queue ", "frames ", "freezes ", "recovered ", "layer 0",
            "route direct",
        ] {
            #expect(seen.last?.contains(word) == true, "\(word) in \(seen)")
        }
        let sent = host.process.errorText.split(separator: "\n").filter { $0.hasPrefix("stats: 1 of 1 connected") }
        for word in [
            "rtt ", "loss ", "estimate ", "sent ", "queue ", "frames ", "freezes ", "recovered ", "layer all",
            "route direct",
        ] {
            #expect(sent.last?.contains(word) == true, "\(word) in \(sent)")
        }
        let event = try #require(viewer.event("statistics"))
        for key in [
            "roundTripMs", "lost", "freezes", "freezeMs", "repaired", "route", "estimateKbit", "queueMs", "recoveries",
            "layer",
        ] { #expect(event[key] != nil, "\(key)") }
        // The viewer reports the host's estimate, and a round-trip time from the host's reports.
        let told = viewer.event("statistics") { $0["estimateKbit"] is Int && $0["roundTripMs"] is Double }
        #expect(told != nil, "\(viewer.lines)")
        let report = try #require(
            host.process.event("statistics") { ($0["layers"] as? [String])?.isEmpty == false })
        #expect(report["layers"] as? [String] == ["all"])
        for key in [
            "roundTripMs", "loss", "estimateKbit", "queueMs", "freezes", "freezeMs", "keyframeRequests", "recoveries",
            "routes",
        ] { #expect(report[key] != nil, "\(key)") }
    }
}
