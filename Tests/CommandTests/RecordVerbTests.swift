import Foundation
import TestSupport
import Testing

/// `share record`, and what other programs make of its files.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RecordVerbTests {
    let host: HostedScreen

    init() throws { host = try HostedScreen(["--source", "test"]) }

    /// - Parameter hasOwnIdentity: needed beside another viewer, which it would replace.
    private func record(
        _ arguments: [String], hasOwnIdentity: Bool = false, launcher: [String] = []
    ) throws -> ShareProcess {
        try ShareProcess(
            ["record", "--json"] + arguments, in: hasOwnIdentity ? nil : host.folder,
            environment: ["SHARE_LINK": host.link], launcher: launcher)
    }

    @Test func aSessionIsRecorded() throws {
        let file = host.folder.file("a.webm")
        let recorder = try record(["-o", file, "--for", "3"])
        #expect(recorder.event("recording")?["file"] as? String == file)
        #expect(recorder.exitCode() == 0)
        let seconds = try #require(recorder.event("recorded")?["seconds"] as? Double)
        #expect((3...4).contains(seconds))
        let media = try MediaProbe(file)
        #expect(media.streams == ["vp8", "opus"])
        #expect(abs(media.duration - seconds) < 0.1)
        // 30 frames a second, and 50 packets.
        #expect((80...130).contains(media.packets["video"] ?? 0))
        #expect((130...210).contains(media.packets["audio"] ?? 0))
        #expect(try media.decodingErrors() == "")
    }

    @Test func theHostAndTheOtherViewersAreTold() throws {
        let viewer = try host.join()
        #expect(viewer.event("first-picture") != nil)
        let recorder = try record(["-o", host.folder.file("a.webm")], hasOwnIdentity: true)
        #expect(host.process.event("accepted") { $0["records"] as? Bool == true } != nil)
        #expect(host.process.event("viewer-joined") { $0["records"] as? Bool == true } != nil)
        #expect(host.process.waitForError("watches and records"))
        #expect(viewer.event("recorders")?["recorders"] as? Int == 1)
        #expect(viewer.waitForError("a viewer records this session"))
        #expect(recorder.event("recording") != nil)
        recorder.interrupt()
        #expect(recorder.exitCode() == 0)
        #expect(viewer.event("recorders") { $0["recorders"] as? Int == 0 } != nil)
    }

    @Test func aFolderGetsANamedFile() throws {
        let recorder = try record(["-o", host.folder.path, "--for", "1"])
        let file = try #require(recorder.event("recording")?["file"] as? String)
        #expect(recorder.exitCode() == 0)
        #expect(URL(fileURLWithPath: file).deletingLastPathComponent().path == host.folder.path)
        #expect(file.wholeMatch(of: /.*\/.+ \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.webm/) != nil)
        #expect(try MediaProbe(file).streams == ["vp8", "opus"])
    }

    @Test func anExistingFileIsRefusedAndKept() throws {
        let file = host.folder.file("mine.webm")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        let recorder = try record(["-o", file])
        #expect(recorder.exitCode() == 73)
        #expect(recorder.errorText.contains("never overwritten"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    }

    @Test func twoRecordersOfOneFileAreRefused() throws {
        let file = host.folder.file("a.webm")
        let first = try record(["-o", file, "--for", "3"])
        #expect(first.event("recording") != nil)
        #expect(try record(["-o", file]).exitCode() == 73)
        #expect(first.exitCode() == 0)
        #expect(try MediaProbe(file).duration > 2.9)
    }

    @Test func aFullDiskEndsTheRecordingAndKeepsIt() throws {
        let file = host.folder.file("a.webm")
        // The process may write files of 150 kB at most.
        let recorder = try record(["-o", file], launcher: ["prlimit", "--fsize=150000"])
        #expect(recorder.event("recording-failed") != nil)
        #expect(recorder.exitCode() == 73)
        #expect(recorder.errorText.contains("cannot be written"))
        let media = try MediaProbe(file)
        #expect(media.duration > 0.5)
        #expect(try media.decodingErrors() == "")
        #expect(host.process.isRunning)
    }

    @Test func recordersThatAreKilledLeaveFilesThatPlay() throws {
        var generator = SeededGenerator(seed: 7)
        var recorders: [(process: ShareProcess, file: String)] = []
        for index in 0..<6 {
            let file = host.folder.file("killed-\(index).webm")
            recorders.append((try record(["-o", file], hasOwnIdentity: true), file))
        }
        for (process, file) in recorders {
            // Any moment: after so many statistics, and a part of a second more.
            let least = Double(1 + generator.below(2))
            let last = process.event("statistics") { $0["seconds"] as? Double ?? 0 > least }
            let lived = try #require(last?["seconds"] as? Double)
            _ = process.exitCode(seconds: Double(generator.below(900)) / 1_000)
            process.kill()
            let media = try MediaProbe(file)
            #expect(media.streams == ["vp8", "opus"])
            #expect(media.duration > lived - 1.5, "of \(lived) s")
            #expect(media.lastVideo > lived - 1.5, "of \(lived) s")
            #expect(try media.decodingErrors() == "")
            try expectRepair(of: file)
        }
    }

    private func expectRepair(of file: String) throws {
        let before = try MediaProbe(file)
        #expect(try show(file)["complete"] as? Bool == false)
        let repair = try ShareProcess(["recordings", "repair", file])
        #expect(repair.exitCode() == 0)
        #expect(repair.errorText.contains("is repaired"))
        #expect(try show(file)["complete"] as? Bool == true)
        let after = try MediaProbe(file)
        #expect(after.packets == before.packets && after.duration >= before.duration)
        #expect(try after.decodingErrors() == "")
    }

    private func show(_ file: String) throws -> [String: Any] {
        let program = try ShareProcess(["recordings", "show", "--json", file])
        #expect(program.exitCode() == 0)
        let line = try #require(program.lines.first)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func filesThatAreNoRecordingsAreLeftAlone() throws {
        let file = host.folder.file("notes.webm")
        try Data("notes".utf8).write(to: URL(fileURLWithPath: file))
        for verb in ["show", "repair"] {
            let program = try ShareProcess(["recordings", verb, file, host.folder.file("none"), host.folder.path])
            #expect(program.exitCode() == 73)
            #expect(program.errorText.contains("is no recording that can be read"))
            #expect(program.errorText.contains("No such file"))
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "notes")
    }

    @Test func aRecordingIsSplit() throws {
        let recorder = try record(["-o", host.folder.file("a.webm"), "--split", "2s", "--for", "5"])
        #expect(recorder.exitCode() == 0)
        for name in ["a.webm", "a-2.webm"] {
            let media = try MediaProbe(host.folder.file(name))
            #expect(media.duration >= 2)
            #expect(media.duration < 4)
            #expect(try media.decodingErrors() == "")
        }
    }
}

/// What ffprobe and ffmpeg say of a file.
struct MediaProbe {
    private let file: String
    /// The codecs in the order of the tracks.
    let streams: [String]
    /// In seconds.
    let duration: Double
    /// How many each kind of track has.
    let packets: [String: Int]
    /// The time of the last frame, in seconds.
    let lastVideo: Double

    init(_ file: String) throws {
        self.file = file
        let probe = try Program(
            "ffprobe",
            [
                "-v", "error", "-show_entries", "stream=codec_name:format=duration:packet=codec_type,pts_time", "-of",
                "json", file,
            ])
        guard probe.exitCode(seconds: 60) == 0,
            let answer = try JSONSerialization.jsonObject(with: Data(probe.text.output.utf8)) as? [String: Any],
            let format = answer["format"] as? [String: Any], let streams = answer["streams"] as? [[String: Any]],
            let packets = answer["packets"] as? [[String: Any]]
        else { throw Program.Failure("ffprobe: \(probe.text)") }
        self.streams = streams.compactMap { $0["codec_name"] as? String }
        duration = (format["duration"] as? String).flatMap(Double.init) ?? 0
        self.packets = packets.reduce(into: [:]) { $0[$1["codec_type"] as? String ?? "", default: 0] += 1 }
        lastVideo =
            packets.filter { $0["codec_type"] as? String == "video" }
            .compactMap { ($0["pts_time"] as? String).flatMap(Double.init) }.max() ?? 0
    }

    /// What ffmpeg reports when it decodes all of the file.
    func decodingErrors() throws -> String {
        let decoder = try Program(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-i", file, "-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-f",
                "null", "-",
            ])
        guard decoder.exitCode(seconds: 60) == 0 else { throw Program.Failure("ffmpeg: \(decoder.text.errors)") }
        return decoder.text.errors
    }
}
