import Foundation
import TestSupport
import Testing

/// `--record` and `--clips` of hosts, viewers and services, and `share clip`.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ClipVerbTests {
    private func clip(_ arguments: [String], in folder: TemporaryFolder) throws -> (
        code: Int32?, out: [String], words: String
    ) {
        let process = try ShareProcess(["clip"] + arguments, in: folder)
        let code = process.exitCode()
        return (code, process.lines, process.errorText)
    }

    private func seconds(_ event: [String: Any]?) -> Double { event?["seconds"] as? Double ?? 0 }

    /// The hidden command that ShareKit's `ControllerTrigger` runs: it says when it watches, and ends with its stdin.
    @Test func controllersAreWatchedForAnAppUntilItEnds() throws {
        let process = try ShareProcess(["controller"])
        #expect(process.exitCode() == 0 && process.lines == ["ready"], "\(process.errorText)")
    }

    @Test func aHostRecordsWithoutAnyViewerAndSavesClips() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("all.webm")
        let host = try HostedScreen(["--source", "test", "--record", file, "--clips", "3", "--name", "Lab"])
        #expect(host.process.event("recording")?["file"] as? String == file)
        #expect(waitForClip(of: 3, host.folder))
        let saved = try clip(["--last", "2", "-o", folder.path, "--json"], in: host.folder)
        #expect(saved.code == 0, "\(saved.words)")
        let line = try #require(saved.out.first)
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let clip = try #require(answer["file"] as? String)
        #expect(clip.hasPrefix(folder.path + "/Lab clip ") && clip.hasSuffix(".webm"))
        #expect(answer["seconds"] as? Double == 2)
        #expect(host.process.event("clip") { $0["file"] as? String == clip } != nil)
        let media = try MediaProbe(clip)
        #expect(media.streams == ["vp8", "opus"] && media.duration == 2)
        #expect((90...101).contains(media.packets["audio"] ?? 0), "\(media.packets)")
        #expect(try media.decodingErrors() == "")

        host.process.interrupt()
        #expect(host.process.exitCode() == 0)
        #expect(seconds(host.process.event("recorded")) > 3)
        let all = try MediaProbe(file)
        #expect(all.streams == ["vp8", "opus"])
        #expect(try all.decodingErrors() == "")
    }

    /// Asks until a clip of so many seconds is there.
    private func waitForClip(of seconds: Double, _ folder: TemporaryFolder) -> Bool {
        for attempt in 0..<100 {
            let name = folder.file("waiting-\(attempt).webm")
            guard let process = try? ShareProcess(["clip", "-o", name, "--json"], in: folder) else { return false }
            guard process.exitCode() == 0, let line = process.lines.first,
                let answer = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            else { continue }
            if answer["seconds"] as? Double ?? 0 >= seconds { return true }
        }
        return false
    }

    @Test func aViewerRecordsAndSavesClipsAndTheHostIsTold() throws {
        let host = try HostedScreen(["--source", "test", "--name", "Lab"])
        let folder = try TemporaryFolder()
        let file = folder.file("seen.webm")
        let viewer = try ShareProcess(
            ["join", "--headless", "--json", "--record", file, "--clips"], in: folder,
            environment: ["SHARE_LINK": host.link])
        #expect(viewer.event("first-picture") != nil)
        #expect(host.process.event("viewer-joined") { $0["records"] as? Bool == true } != nil)
        #expect(waitForClip(of: 2, folder))
        // A host's clips are others than a viewer's, and `share status` shows broadcasts alone.
        #expect(try clip([], in: host.folder).code == 72)
        let status = try ShareProcess(["status"], in: folder)
        #expect(status.exitCode() == 72)

        let existing = try clip(["-o", file], in: folder)
        #expect(existing.code == 73 && existing.words.contains("File exists"), "\(existing.words)")
        let nowhere = try clip(["-o", folder.file("none/a.webm")], in: folder)
        #expect(nowhere.code == 73 && nowhere.words.contains("No such file"), "\(nowhere.words)")
        let other = try clip(["--broadcast", "nobody"], in: folder)
        #expect(other.code == 72 && other.words.contains("no session of that name"), "\(other.words)")
        #expect(try clip(["--broadcast", "lab", "-o", folder.file("lab.webm")], in: folder).code == 0)

        viewer.interrupt()
        #expect(viewer.exitCode() == 0)
        let media = try MediaProbe(file)
        #expect(media.duration > 2)
        #expect(try media.decodingErrors() == "")
    }

    /// The session goes on, and the exit code says that something is missing.
    @Test func aViewerWhoseDiskIsFullGoesOn() throws {
        let host = try HostedScreen(["--source", "test"])
        let file = host.folder.file("a.webm")
        let viewer = try ShareProcess(
            ["join", "--headless", "--json", "--record", file], environment: ["SHARE_LINK": host.link],
            launcher: ["prlimit", "--fsize=150000"])
        #expect(viewer.event("recording-failed") != nil)
        #expect(viewer.waitForError("The session goes on"))
        // Past events are found, too.
        let frames = viewer.lines.filter { $0.contains("\"statistics\"") }.count * 40
        #expect(viewer.event("statistics") { $0["frames"] as? Int ?? 0 > frames + 60 } != nil)
        #expect(viewer.isRunning)
        viewer.interrupt()
        #expect(viewer.exitCode() == 73)
        #expect(try MediaProbe(file).duration > 0.5)
    }

    @Test func anExistingFileIsRefusedBeforeTheBroadcast() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("mine.webm")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        let host = try HostedScreen(["--source", "test"])
        for arguments in [["host", "--source", "test", "--accept", "any"], ["join", "--headless"]] {
            let process = try ShareProcess(
                arguments + ["--record", file], in: folder, environment: ["SHARE_LINK": host.link])
            #expect(process.exitCode() == 73)
            #expect(process.errorText.contains("never overwritten"), "\(process.errorText)")
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        let clips = try ShareProcess(["host", "--source", "test", "--accept", "any", "--clips", "0"], in: folder)
        #expect(clips.exitCode() == 64 && clips.errorText.contains("--clips is 1 to 600 seconds"))
    }

    @Test func withoutClipsTheVerbSaysWhatToDo() throws {
        let host = try HostedScreen(["--source", "test"])
        let none = try clip([], in: host.folder)
        #expect(none.code == 72 && none.words.contains("--clips"), "\(none.words)")
    }
}
