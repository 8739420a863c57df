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
        // 30 frames a second, and 50 packets; a busy machine leaves frames out.
        #expect((60...130).contains(media.packets["video"] ?? 0))
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

    /// The counter in the picture and the beeps tell the host's clock.
    @Test func soundAndPictureAreTogether() throws {
        let file = host.folder.file("a.webm")
        let recorder = try record(["-o", file, "--for", "6"])
        #expect(recorder.exitCode() == 0)
        let offsets = try RecordedOffsets(of: file, from: 1, seconds: 5, width: 1_280, framesPerSecond: 30)
        #expect(offsets.milliseconds.count >= 4)
        #expect(abs(offsets.worst) < 20, "\(offsets.milliseconds)")
    }

    /// What is paused is still in the file, and what comes after it is at its time.
    @Test func aPauseKeepsSoundAndPictureTogether() throws {
        let file = host.folder.file("a.webm")
        let recorder = try record(["-o", file, "--for", "10"])
        #expect(recorder.event("statistics") { $0["seconds"] as? Double ?? 0 > 2 } != nil)
        for verb in ["pause", "resume"] {
            let control = try ShareProcess([verb], in: host.folder)
            #expect(control.exitCode() == 0)
            let seconds = verb == "pause" ? 4.0 : 0
            #expect(recorder.event("statistics") { $0["seconds"] as? Double ?? 0 > seconds } != nil)
        }
        #expect(recorder.exitCode() == 0)
        let offsets = try RecordedOffsets(of: file, from: 5.5, seconds: 4.5, width: 1_280, framesPerSecond: 30)
        #expect(offsets.milliseconds.count >= 2)
        #expect(abs(offsets.worst) < 20, "\(offsets.milliseconds)")
        let media = try MediaProbe(file)
        #expect(media.lastVideo > 9)
        #expect(try media.decodingErrors() == "")
    }

    @Test func anExistingFileIsRefusedAndKept() throws {
        let file = host.folder.file("mine.webm")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        let recorder = try record(["-o", file])
        #expect(recorder.exitCode() == 73)
        #expect(recorder.errorText.contains("never overwritten"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    }

    /// In a mount namespace of its own, as modes do not stop root.
    @Test func aReadOnlyFolderIsRefused() throws {
        let folder = host.folder.file("disk")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let mounted = [
            "unshare", "--mount", "sh", "-c", "mount -t tmpfs -o ro none '\(folder)' && exec \"$@\"", "sh",
        ]
        for target in [folder + "/a.webm", folder] {
            let recorder = try record(["-o", target], hasOwnIdentity: true, launcher: mounted)
            #expect(recorder.exitCode() == 73, "\(target)")
            #expect(recorder.errorText.contains("Read-only file system"), "\(recorder.errorText)")
        }
        #expect(host.process.isRunning)
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

    /// A file system of 300 kB that the test has mounted for the recorder alone.
    @Test func aFileSystemWithoutRoomEndsTheRecordingAndKeepsIt() throws {
        let disk = host.folder.file("disk")
        let kept = host.folder.file("kept")
        for folder in [disk, kept] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        let script =
            "mount -t tmpfs -o size=300k none '\(disk)' && { \"$@\"; code=$?; cp '\(disk)'/* '\(kept)'; exit $code; }"
        let recorder = try record(
            ["-o", disk + "/a.webm"], launcher: ["unshare", "-rm", "/bin/sh", "-c", script, "recorder"])
        #expect(recorder.event("recording-failed") != nil, "\(recorder.errorText)")
        #expect(recorder.exitCode() == 73)
        #expect(recorder.errorText.contains("No space left on device"))
        let media = try MediaProbe(kept + "/a.webm")
        #expect(media.duration > 0.5)
        #expect(try media.decodingErrors() == "")
        #expect(host.process.isRunning)
    }

    @Test func aFolderThatVanishesEndsTheRecordingWithTheNextFile() throws {
        let folder = host.folder.file("folder")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let recorder = try record(["-o", folder, "--split", "1s"])
        #expect(recorder.event("recording") != nil)
        try FileManager.default.removeItem(atPath: folder)
        #expect(recorder.event("recording-failed") != nil)
        #expect(recorder.exitCode() == 73)
        #expect(recorder.errorText.contains("Name a folder that exists"), "\(recorder.errorText)")
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

    /// Syncing a recording takes 20 s.
    private static let slowDisk = """
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>

        int fdatasync(int file) {
            char link[64], path[4096] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, ".webm")) sleep(20);
            return 0;
        }
        """

    /// Writing goes on while the disk is busy, so that a kill costs no more than otherwise.
    @Test func aDiskThatTakesSecondsHoldsUpNoFrames() throws {
        let (source, library) = (host.folder.file("slow.c"), host.folder.file("slow.so"))
        try Self.slowDisk.write(toFile: source, atomically: true, encoding: .utf8)
        let compiler = try Program("clang", ["-shared", "-fPIC", "-o", library, source])
        #expect(compiler.exitCode(seconds: 30) == 0, "\(compiler.text.errors)")
        let file = host.folder.file("a.webm")
        let recorder = try record(["-o", file], launcher: ["env", "LD_PRELOAD=" + library])
        let last = recorder.event("statistics") { $0["seconds"] as? Double ?? 0 > 5 }
        let lived = try #require(last?["seconds"] as? Double)
        recorder.kill()
        let media = try MediaProbe(file)
        #expect(media.lastVideo > lived - 1.5, "of \(lived) s")
        #expect(try media.decodingErrors() == "")
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

    /// Passes TCP connections on to a port, once a line comes on stdin.
    private static let forwarder = """
        import socket, sys, threading
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        sys.stdin.readline()
        listener.listen()
        def pipe(a, b):
            try:
                while data := a.recv(65536): b.sendall(data)
            except OSError: pass
            b.close()
        while True:
            near = listener.accept()[0]
            far = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            for pair in ((near, far), (far, near)): threading.Thread(target=pipe, args=pair, daemon=True).start()
        """

    @Test func aWatchJoinsWhenTheHostCanBeReached() throws {
        let other = try HostedScreen(["--source", "test"])
        let parts = try #require(host.link.wholeMatch(of: /(https:\/\/127\.0\.0\.1:)(\d+)(\/.*)/)?.output)
        let start = host.folder.file("start")
        #expect(mkfifo(start, 0o600) == 0)
        let forwarder = try Program(
            "/bin/sh", ["-c", "exec python3 -c \"$0\" \(parts.2) < '\(start)'", Self.forwarder])
        // Opening waits for the other side.
        let starter = try #require(FileHandle(forUpdatingAtPath: start))
        let port = try #require(forwarder.line(seconds: 20) { $0 })
        let watch = try ShareProcess(
            ["record", "--json", "--watch", "-o", host.folder.path, "\(parts.1)\(port)\(parts.3)", other.link])
        #expect(watch.event("waiting") != nil)
        // The other broadcast is recorded meanwhile.
        #expect(watch.event("recording") != nil)
        try starter.write(contentsOf: Data("go\n".utf8))
        let first = try #require(watch.event("waiting")?["broadcast"] as? String)
        #expect(watch.event("recording") { $0["broadcast"] as? String == first } != nil)
        // The secret of a link is not told.
        #expect(!watch.lines.joined().contains("#") && !watch.errorText.contains("#"))
        host.process.interrupt()
        #expect(watch.event("recorded") { $0["broadcast"] as? String == first } != nil)
        #expect(watch.isRunning)
        watch.interrupt()
        #expect(watch.exitCode() == 0)
        for event in watch.lines where event.contains("\"recorded\"") {
            let line = try JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any]
            let media = try MediaProbe(try #require(line?["file"] as? String))
            #expect(try media.duration > 0 && media.decodingErrors() == "")
        }
        #expect(watch.lines.count { $0.contains("\"recorded\"") } == 2)
        forwarder.kill()
    }

    /// Each session is tried with another file, and SIGTERM completes what there is.
    @Test func aWatchGoesOnAfterAWriteError() throws {
        let watch = try record(
            ["--watch", "-o", host.folder.path], hasOwnIdentity: true, launcher: ["prlimit", "--fsize=150000"])
        let first = try #require(watch.event("recording")?["file"] as? String)
        #expect(watch.event("recording-failed") != nil)
        #expect(watch.event("waiting") != nil)
        let second = try #require(watch.event("recording") { $0["file"] as? String != first }?["file"] as? String)
        #expect(Glibc.kill(watch.processID, SIGTERM) == 0)
        #expect(watch.exitCode() == 73)
        for file in [first, second] {
            let media = try MediaProbe(file)
            #expect(try media.duration > 0 && media.decodingErrors() == "")
        }
        #expect(host.process.isRunning)
    }

    @Test func aHostThatRefusesIsNotAskedAgain() throws {
        let folder = try TemporaryFolder()
        let refusing = try ShareProcess(
            [
                "host", "--accept", "known", "--listen", "127.0.0.1:0", "--json", "--source", "test",
            ], in: folder)
        let link = try #require(refusing.event("link")?["link"] as? String)
        let watch = try ShareProcess(["record", "--json", "--watch", "-o", folder.path, link])
        #expect(watch.event("watch-ended")?["code"] as? String == "refused")
        #expect(watch.exitCode() == 77)
        let several = try ShareProcess(["record", link, link])
        #expect(several.exitCode() == 64 && several.errorText.contains("--watch"))
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
