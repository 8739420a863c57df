import Foundation
import TestSupport
import Testing

/// `share status` and its like, from other processes than the host's.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct ControlVerbTests {
    private struct Result {
        let code: Int32?
        let lines: [String]
        let words: String
    }

    private func run(
        _ arguments: [String], in folder: TemporaryFolder, environment: [String: String] = [:]
    ) throws -> Result {
        let process = try ShareProcess(arguments, in: folder, environment: environment)
        let code = process.exitCode()
        return Result(code: code, lines: process.lines, words: process.errorText)
    }

    private func object(_ line: String?) throws -> [String: Any] {
        let line = try #require(line)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    /// The files in the host's folder of control sockets.
    private func sockets(of folder: TemporaryFolder) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.file("share-\(geteuid())"))) ?? []
    }

    // MARK: One broadcast

    @Test(arguments: [
        ["status"], ["status", "--json"], ["stop"], ["pause"], ["resume"], ["blank"], ["unblank"], ["freeze"],
        ["unfreeze"], ["mute"], ["unmute", "--mic"], ["viewers"],
        ["remove", "Ann"],
    ])
    func withoutABroadcastEachVerbSaysSo(_ arguments: [String]) throws {
        let result = try run(arguments, in: TemporaryFolder())
        #expect(result.code == 72)
        #expect(result.lines.isEmpty && result.words.contains("no broadcast is running"), "\(result.words)")
    }

    @Test func aBroadcastIsPausedResumedAndStoppedFromAnotherProcess() throws {
        let host = try HostedScreen(["--source", "test", "--name", "demo"])
        let viewer = try host.join(["--name", "Ann"])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let id = try #require(URL(string: host.link)?.path.dropFirst())
        _ = try #require(host.process.event("statistics") { $0["connected"] as? Int == 1 })
        var status = try run(["status"], in: host.folder)
        #expect(status.code == 0 && status.lines.count == 1)
        #expect(status.lines.first?.hasPrefix("\(id)  live  00:00:") == true, "\(status.lines)")
        #expect(status.lines.first?.contains("1 viewer  ") == true && status.lines.first?.contains("\"demo\"") == true)

        #expect(try run(["pause"], in: host.folder).code == 0)
        #expect(host.process.event("paused") != nil && viewer.event("paused") != nil)
        let again = try run(["pause"], in: host.folder)
        #expect(again.code == 0 && again.words.contains("paused already"))
        status = try run(["status", "--json"], in: host.folder)
        let json = try object(status.lines.first)
        #expect(json["id"] as? String == String(id) && json["paused"] as? Bool == true)
        #expect(json["viewers"] as? Int == 1 && json["connected"] as? Int == 1 && json["name"] as? String == "demo")
        #expect(json["process"] as? Int == Int(host.process.processID))
        #expect(viewer.waitForError("the host has paused the broadcast"))

        #expect(try run(["resume"], in: host.folder).code == 0)
        #expect(host.process.event("resumed")?["pausedMs"] is Double)
        #expect(viewer.event("resumed") != nil)

        let stopped = try run(["stop"], in: host.folder)
        #expect(stopped.code == 0 && stopped.words.contains("\(id) has ended"))
        #expect(host.process.exitCode() == 0)
        #expect(viewer.event("ended")?["code"] as? String == "hostEnded")
        #expect(host.process.event("ended")?["reason"] as? String == "ended by share stop")
        #expect(sockets(of: host.folder).isEmpty)
        #expect(try run(["status"], in: host.folder).code == 72)
    }

    @Test func aBroadcastIsBlankedFromAnotherProcessAlsoWhilePaused() throws {
        let host = try HostedScreen(["--source", "test"])
        let viewer = try host.join(["--name", "Ann"])
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(try run(["freeze"], in: host.folder).words.contains("share: frozen; share unfreeze continues"))
        #expect(viewer.event("paused")?["hold"] as? String == "freeze")
        #expect(viewer.waitForError("the host has frozen the picture"))
        #expect(try run(["pause"], in: host.folder).code == 0)
        #expect(try run(["blank"], in: host.folder).code == 0)
        #expect(host.process.event("blanked") != nil && viewer.waitForError("the host has hidden the picture"))
        #expect(try run(["blank"], in: host.folder).words.contains("it is blanked already"))
        let status = try run(["status"], in: host.folder)
        #expect(status.lines.first?.contains("  blanked  ") == true, "\(status.lines)")
        let json = try object(try run(["status", "--json"], in: host.folder).lines.first)
        #expect(json["holds"] as? [String] == ["pause", "freeze", "blank"] && json["paused"] as? Bool == true)
        // Each ends by itself: a resumption shows nothing.
        #expect(try run(["resume"], in: host.folder).words.contains("share: resumed, and still blanked"))
        #expect(try run(["unblank"], in: host.folder).words.contains("share: unblanked, and still frozen"))
        #expect(host.process.event("unblanked")?["blankedMs"] is Double)
        #expect(try run(["unfreeze"], in: host.folder).code == 0)
        #expect(viewer.event("resumed") != nil)
    }

    @Test func audioIsMutedByTrack() throws {
        let host = try HostedScreen(["--source", "test"])
        let muted = try run(["mute"], in: host.folder)
        #expect(muted.code == 0 && muted.words.contains("system audio muted"))
        #expect(host.process.event("muted")?["track"] as? String == "system")
        let status = try run(["status"], in: host.folder)
        #expect(status.lines.first?.hasSuffix("system audio muted") == true, "\(status.lines)")
        let microphone = try run(["mute", "--mic"], in: host.folder)
        #expect(microphone.code == 64 && microphone.words.contains("this broadcast has no microphone"))
        #expect(try run(["unmute", "--system"], in: host.folder).code == 0)
        #expect(host.process.event("unmuted")?["track"] as? String == "system")
        let silent = try HostedScreen(["--source", "test", "--audio", "none"])
        let none = try run(["mute"], in: silent.folder)
        #expect(none.code == 64 && none.words.contains("this broadcast has no audio"))
    }

    @Test func aRemovedViewerIsToldAndStaysOut() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let folders = [try TemporaryFolder(), try TemporaryFolder()]
        let viewers = try folders.map {
            try ShareProcess(
                ["join", "--headless", "--json", "--name", "Ann"], in: $0, environment: ["SHARE_LINK": host.link])
        }
        for viewer in viewers { _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)") }
        // The host learns its selected pairs a moment after the viewers have theirs.
        var records: [[String: Any]] = []
        _ = try eventually {
            records = try run(["viewers", "--json"], in: host.folder).lines.map(object)
            return records.count == 2 && records.allSatisfy { ($0["path"] as? String)?.isEmpty == false }
        }
        #expect(records.count == 2 && records.allSatisfy { $0["name"] as? String == "Ann" })
        #expect(records.allSatisfy { ($0["path"] as? String)?.contains("direct") == true })

        let ambiguous = try run(["remove", "Ann"], in: host.folder)
        #expect(ambiguous.code == 64 && ambiguous.words.contains("more than one viewer is meant by \"Ann\""))
        let prints = records.compactMap { $0["fingerprint"] as? String }
        #expect(prints.allSatisfy { ambiguous.words.contains($0.prefix(16)) })
        let nobody = try run(["remove", "Carol"], in: host.folder)
        #expect(nobody.code == 64 && nobody.words.contains("nobody watches as \"Carol\""))

        let number = try #require(records.first?["number"] as? Int)
        let removed = try run(["remove", "\(number)"], in: host.folder)
        #expect(removed.code == 0 && removed.words.contains("removed: \"Ann\" (share, 127.0.0.1)"))
        #expect(removed.words.contains("refused until this broadcast ends"))
        #expect(host.process.event("viewer-removed")?["name"] as? String == "Ann")
        #expect(host.process.event("viewer-left")?["code"] as? String == "removed")
        var found: ShareProcess?
        #expect(
            eventually {
                found = viewers.first { $0.event("ended", seconds: 0) != nil }
                return found != nil
            })
        let gone = try #require(found)
        #expect(gone.event("ended")?["reason"] as? String == "the host removed you")
        #expect(gone.exitCode() == 77)
        // The identity is refused, and the other viewer goes on.
        let index = try #require(viewers.firstIndex { $0 === gone })
        let back = try ShareProcess(["join", "--headless", host.link], in: folders[index])
        #expect(back.exitCode() == 77 && back.errorText.contains("the host removed you"), "\(back.errorText)")
        #expect(viewers[1 - index].isRunning)
        #expect(try eventually { try run(["viewers"], in: host.folder).lines.count == 1 })
        let fingerprint = try #require(prints.last.map { String($0.prefix(8)) })
        #expect(try run(["remove", fingerprint], in: host.folder).code == 0)
        #expect(
            try eventually {
                let empty = try run(["viewers"], in: host.folder)
                return empty.code == 0 && empty.lines.isEmpty && empty.words.contains("nobody watches")
            })
    }

    // MARK: Several broadcasts, and none any more

    @Test func ofSeveralBroadcastsOneIsChosen() throws {
        let folder = try TemporaryFolder()
        let hosts = try (0..<2).map { _ in
            try ShareProcess(
                [
                    "host", "--accept", "any", "--listen", "127.0.0.1:0", "--json", "--source", "test", "--audio",
                    "none",
                ],
                in: folder)
        }
        let ids = try hosts.map { host -> String in
            let link = try #require(host.event("link")?["link"] as? String)
            return String(try #require(URL(string: link)?.path.dropFirst()))
        }
        #expect(try run(["status"], in: folder).lines.count == 2)
        let unclear = try run(["pause"], in: folder)
        #expect(unclear.code == 64 && ids.allSatisfy { unclear.words.contains($0) })
        #expect(unclear.words.contains("--broadcast ID"))
        #expect(try run(["pause", "--broadcast", ids[1].lowercased()], in: folder).code == 0)
        #expect(hosts[1].event("paused") != nil)
        #expect(hosts[0].lines.allSatisfy { !$0.contains("\"paused\"}") })
        #expect(try run(["stop", "--broadcast", ids[0]], in: folder).code == 0)
        #expect(hosts[0].exitCode() == 0)
        let other = try run(["resume", "--broadcast", ids[0]], in: folder)
        #expect(other.code == 72 && other.words.contains(ids[1]))
        #expect(try run(["resume"], in: folder).code == 0)
    }

    @Test func theSocketOfAKilledHostIsRemoved() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        #expect(sockets(of: host.folder).count == 1)
        host.process.kill()
        _ = host.process.exitCode()
        #expect(sockets(of: host.folder).count == 1)
        #expect(try run(["status"], in: host.folder).code == 72)
        #expect(sockets(of: host.folder).isEmpty)
    }

    @Test func theRuntimeDirectoryIsUsedAndAnUnusableOneIsReported() throws {
        let runtime = try TemporaryFolder()
        let environment = ["XDG_RUNTIME_DIR": runtime.path]
        let host = try HostedScreen(["--source", "test", "--audio", "none"], environment: environment)
        let folder = runtime.file("share")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
        #expect(try run(["status"], in: host.folder, environment: environment).code == 0)
        host.process.interrupt()
        #expect(host.process.exitCode() == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)

        let hostile = try TemporaryFolder()
        let place = hostile.file("share-\(geteuid())")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        #expect(chmod(place, 0o777) == 0)
        let open = try HostedScreen(
            ["--source", "test", "--audio", "none"], environment: ["TMPDIR": hostile.path])
        let viewer = try open.join()
        #expect(viewer.event("first-picture") != nil)
        #expect(open.process.waitForError("will not find this broadcast"), "\(open.process.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    }

    // MARK: The host's terminal

    @Test func theStatusLineSaysThatTheBroadcastIsPausedAndARemovedViewerIsAskedAboutAgain() throws {
        let terminal = try Terminal(["host", "--source", "test", "--listen", "127.0.0.1:0"])
        let link = try #require(terminal.waitFor { $0.firstLink }, "\(terminal.screen())")
        let viewer = try terminal.join(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Dora") })
        try terminal.type("a")
        #expect(viewer.event("first-picture") != nil)
        #expect(terminal.waitUntil { $0.contains("LIVE 00:") })
        #expect(try run(["pause"], in: terminal.hostFolder).code == 0)
        #expect(terminal.waitUntil { $0.contains("PAUSED 00:") && $0.contains("1 viewer") })
        #expect(try run(["mute"], in: terminal.hostFolder).code == 0)
        #expect(terminal.waitUntil { $0.contains("system audio muted") })
        #expect(try run(["resume"], in: terminal.hostFolder).code == 0)
        #expect(terminal.waitUntil { $0.contains("LIVE 00:") })

        let removed = try run(["remove", "Dora"], in: terminal.hostFolder)
        #expect(removed.words.contains("they may knock again, and you are asked about them again"))
        #expect(viewer.exitCode() == 77)
        // Dora is known, but is asked about all the same.
        let again = try terminal.join(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Dora") }, "\(terminal.screen())")
        #expect(terminal.screen().contains("whom you removed, knocks again"))
        try terminal.type("y")
        #expect(again.event("first-picture") != nil)
    }

    @Test func aCountdownComesBeforeTheLinkAndCanBeCancelled() throws {
        let arguments = ["host", "--accept", "any", "--listen", "127.0.0.1:0", "--json", "--source", "test"]
        let begin = ContinuousClock.now
        let host = try ShareProcess(arguments + ["--countdown", "2"])
        #expect(host.event("link") != nil)
        #expect(ContinuousClock.now - begin >= .seconds(2))
        #expect(host.event("countdown")?["seconds"] as? Int == 2)
        let cancelled = try ShareProcess(arguments + ["--countdown", "600"])
        _ = try #require(cancelled.event("countdown"))
        cancelled.interrupt()
        #expect(cancelled.exitCode() == 0)
        #expect(cancelled.event("link") == nil)
        let wrong = try ShareProcess(arguments + ["--countdown=-1"])
        #expect(wrong.exitCode() == 64)
    }
}
