import Foundation
import TestSupport
import Testing

/// `share-lab bench`: the figures are those of real sessions.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BenchVerbTests {
    @Test func aRelayIsMeasured() throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "100", "--seconds", "2", "--json"], in: folder, of: "share-lab")
        #expect(bench.exitCode(seconds: 60) == 0, "\(bench.errorText)")
        let line = try #require(bench.lines.last)
        let figures = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(figures["viewers"] as? Int == 100)
        // One address may have 96 connections.
        #expect(figures["packetsPerSecond"] as? Int ?? 0 > 2_000)
        #expect(figures["microsecondsPerPacket"] as? Double ?? 0 > 0.5)
        #expect(figures["lost"] as? Int == 0)
        #expect((1...10_000).contains(figures["joinMilliseconds95"] as? Int ?? 0))
    }

    @Test func viewersJoinWhileStrangersFloodTheRelay() throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "4", "--seconds", "2", "--attack", "datagrams", "--json"], in: folder,
            of: "share-lab")
        #expect(bench.exitCode(seconds: 60) == 0, "\(bench.errorText)")
        let line = try #require(bench.lines.last)
        let figures = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(figures["hostileDatagramsPerSecond"] as? Int ?? 0 > 1_000, "\(line)")
        #expect(figures["attackedJoins"] as? Int == 8, "\(line)")
        #expect(figures["packetsPerSecond"] as? Int ?? 0 > 50, "\(line)")
    }

    @Test(arguments: [("sessions", "hostileOffersPerSecond"), ("connections", "hostileConnectionsPerSecond")])
    func viewersJoinWhileStrangersTakePlaces(attack: String, rate: String) throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "4", "--seconds", "2", "--attack", attack, "--json"], in: folder,
            of: "share-lab")
        #expect(bench.exitCode(seconds: 90) == 0, "\(bench.errorText)")
        let line = try #require(bench.lines.last)
        let figures = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(figures[rate] as? Int ?? 0 > 20, "\(line)")
        #expect(figures["attackedJoins"] as? Int == 8, "\(line)")
    }

    @Test func itEndsWithItsRelayOnASignal() throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "2", "--seconds", "600"], in: folder, of: "share-lab")
        #expect(bench.waitForError("2 viewers watch"))
        bench.interrupt()
        #expect(bench.exitCode(seconds: 20) != nil, "\(bench.errorText)")
    }

    /// Figures of a process that has gone would be nonsense.
    @Test func aRelayThatIsKilledIsTold() throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "2", "--seconds", "3"], in: folder, of: "share-lab")
        #expect(bench.waitForError("2 viewers watch"))
        let killer = try Program("pkill", ["-KILL", "-P", "\(bench.processID)", "-f", "share relay"])
        #expect(killer.exitCode(seconds: 20) == 0)
        let code = try #require(bench.exitCode(seconds: 30))
        #expect(code != 0, "\(bench.lines)")
        #expect(bench.errorText.contains("the relay has ended"), "\(bench.errorText)")
    }

    @Test func tooFewOpenFilesAreTold() throws {
        let folder = try TemporaryFolder()
        let bench = try ShareProcess(
            ["bench", "relay", "--viewers", "2000"], in: folder, launcher: ["prlimit", "--nofile=1000:1000"],
            of: "share-lab")
        #expect(bench.exitCode() == 70)
        #expect(bench.errorText.contains("2000 viewers need 8256 open files"), "\(bench.errorText)")
    }

    @Test func badArgumentsAreTold() throws {
        let folder = try TemporaryFolder()
        for (arguments, words) in [
            (["--viewers", "0"], "--viewers is 1 to 2000"), (["--bitrate", "1"], "--bitrate"),
            (["--seconds", "0"], "--seconds"),
        ] {
            let bench = try ShareProcess(["bench", "relay"] + arguments, in: folder, of: "share-lab")
            #expect(bench.exitCode() == 64 && bench.errorText.contains(words), "\(bench.errorText)")
        }
    }
}
