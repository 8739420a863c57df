import Foundation
import ImageFile
import MediaCore
import TestSupport
import Testing

/// `share recordings`: the catalogue, and what can be done with its files.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RecordingsVerbTests {
    /// Six seconds of the test video with a tone, and the catalogue that lists them: recorded once for all tests.
    private struct Template {
        let recording: Data
        let catalogue: [String: Data]
        let path: String

        init() throws {
            let folder = try TemporaryFolder()
            path = folder.file("Lab.webm")
            let host = try ShareProcess(
                [
                    "host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0", "--name", "Lab\u{1B}[2J",
                    "--record", path, "--for", "6",
                ], in: folder)
            guard host.exitCode() == 0 else { throw Program.Failure("no recording: \(host.errorText)") }
            recording = try Data(contentsOf: URL(fileURLWithPath: path))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("share"))
            catalogue = try names.filter { $0.hasPrefix("recordings.sqlite") }.reduce(into: [:]) {
                $0[$1] = try Data(contentsOf: URL(fileURLWithPath: folder.file("share/\($1)")))
            }
        }

        /// Puts the recording into a folder, and the catalogue with its path there.
        func copy(to folder: TemporaryFolder) throws -> String {
            let file = folder.file("Lab.webm")
            try recording.write(to: URL(fileURLWithPath: file))
            let own = folder.file("share")
            try FileManager.default.createDirectory(
                atPath: own, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            for (name, bytes) in catalogue {
                try bytes.write(to: URL(fileURLWithPath: own + "/" + name))
                chmod(own + "/" + name, 0o600)
            }
            let change = """
                import sqlite3, sys
                with sqlite3.connect(sys.argv[1]) as catalogue:
                    catalogue.execute("UPDATE recording SET path = ? WHERE path = ?", sys.argv[2:])
                """
            let python = try Program("python3", ["-c", change, own + "/recordings.sqlite", file, path])
            guard python.exitCode(seconds: 30) == 0 else { throw Program.Failure(python.text.errors) }
            return file
        }
    }

    private static let template = Result { try Template() }

    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = try Self.template.get().copy(to: folder)
    }

    private func run(_ arguments: [String]) throws -> (code: Int32?, out: [String], words: String) {
        let process = try ShareProcess(["recordings"] + arguments, in: folder)
        let code = process.exitCode(seconds: 60)
        return (code, process.lines, process.errorText)
    }

    private func list() throws -> [[String: Any]] {
        let result = try run(["list", "--json"])
        #expect(result.code == 0, "\(result.words)")
        return try result.out.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    @Test func whatWasRecordedIsListedAndRemoved() throws {
        let entry = try #require(try list().first)
        #expect(entry["number"] as? Int == 1 && entry["file"] as? String == file)
        #expect(entry["state"] as? String == "complete" && entry["bytes"] as? Int ?? 0 > 10_000)
        #expect((5.5...6.5).contains(entry["seconds"] as? Double ?? 0))
        let line = try #require(try run(["list"]).out.first)
        #expect(line.hasPrefix("1  20") && line.hasSuffix(file) && line.contains("\"Lab"), "\(line)")
        #expect(!line.contains("\u{1B}"))
        #expect(try run(["show", "1"]).out.first?.hasSuffix(file) == true)
        #expect(try run(["show", "7"]).words.contains("there is no recording 7"))

        #expect(try run(["remove", "1"]).code == 64)
        #expect(try run(["remove", "nothing", "--yes"]).words.contains("there is no recording nothing"))
        #expect(FileManager.default.fileExists(atPath: file))
        #expect(try run(["remove", file, "--yes"]).code == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(try list().isEmpty)
    }

    @Test func aRecordingThatWasCutOffIsOfferedForRepair() throws {
        let host = try HostedScreen(["--source", "test"])
        let cut = folder.file("cut.webm")
        let recorder = try ShareProcess(
            ["record", "--json", "-o", cut], in: folder, environment: ["SHARE_LINK": host.link])
        #expect(recorder.event("statistics") { $0["seconds"] as? Double ?? 0 > 1.5 } != nil)
        #expect(try list().first?["state"] as? String == "recording")
        #expect(try run(["remove", "2", "--yes"]).words.contains("is being recorded"))
        recorder.kill()
        #expect(recorder.exitCode() != 0)
        #expect(try list().first?["state"] as? String == "cut-off")
        let next = try ShareProcess(
            ["record", "--for", "1", "-o", folder.file("next.webm")], in: folder,
            environment: ["SHARE_LINK": host.link])
        #expect(next.waitForError("was cut off; complete it with: share recordings repair 2"))
        #expect(next.exitCode() == 0)
        #expect(try run(["repair", "2"]).code == 0)
        #expect(try list().map { $0["state"] as? String } == ["complete", "complete", "complete"])
    }

    @Test func aPartBeginsWithAKeyFrameOrExactly() throws {
        let exact = folder.file("exact.webm")
        let result = try run(["trim", "1", "--from", "2.5", "--to", "0:04.5", "--exact", "-o", exact])
        #expect(result.code == 0, "\(result.words)")
        let media = try MediaProbe(exact)
        #expect(media.duration == 2 && media.streams == ["vp8", "opus"])
        #expect((95...101).contains(media.packets["audio"] ?? 0))
        #expect(try media.decodingErrors() == "")
        #expect(try pictures(of: exact) == pictures(of: file, from: 2.5, to: 4.5))

        // The only key frame is the first one.
        #expect(try run(["trim", file, "--from", "2.5"]).code == 0)
        let part = try MediaProbe(folder.file("Lab-part.webm"))
        #expect(part.duration > 5.5)
        #expect(try run(["trim", file, "--to", "1", "--exact"]).code == 0)
        #expect(try MediaProbe(folder.file("Lab-part-2.webm")).duration == 1)
        for arguments in [["--from", "99"], ["--from", "3", "--to", "2"], ["--from", "x"]] {
            let bad = try run(["trim", file, "-o", folder.file("bad.webm")] + arguments)
            #expect(bad.code != 0 && !bad.words.isEmpty, "\(arguments)")
        }
        #expect(try run(["trim", file, "-o", exact]).words.contains("never overwritten"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("bad.webm")))
    }

    /// The MD5 sums of the frames that are shown.
    private func pictures(of file: String, from start: Double = 0, to end: Double = 1_000) throws -> [String] {
        let program = try Program(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-i", file, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framehash",
                "-hash", "md5", "-enc_time_base", "1:1000", "-",
            ])
        #expect(program.exitCode(seconds: 60) == 0)
        var shown: [(time: Double, hash: String)] = []
        for line in program.text.output.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            shown.append(((Double(fields[2]) ?? 0) / 1_000, fields.last ?? ""))
        }
        let first = shown.lastIndex { $0.time <= start } ?? 0
        return shown[first...].filter { $0.time < end }.map(\.hash)
    }

    @Test func clipsAreJoinedAndExported() throws {
        let one = folder.file("one.webm")
        #expect(try run(["trim", file, "--from", "1", "--to", "2", "--exact", "-o", one]).code == 0)
        let reel = folder.file("reel.webm")
        let joined = try run(["reel", one, "1", "2", "-o", reel, "--title", "Best of"])
        #expect(joined.code == 0, "\(joined.words)")
        let media = try MediaProbe(reel)
        #expect(abs(media.duration - 2 - (try MediaProbe(file).duration)) < 0.2)
        #expect(try media.decodingErrors() == "")
        #expect(try run(["show", reel]).out.first?.contains("\"Best of\"") == true)

        for (arguments, codecs) in [
            (["export", one], ["h264", "aac"]), (["export", one, "-o", folder.file("one.gif")], ["gif"]),
        ] {
            let exported = try run(arguments)
            #expect(exported.code == 0, "\(exported.words)")
            let name = arguments.last == one ? folder.file("one.mp4") : folder.file("one.gif")
            let result = try MediaProbe(name)
            #expect(result.streams == codecs && abs(result.duration - 1) < 0.2)
        }
        #expect(try run(["export", one, "--format", "webp"]).code == 0)
        let animation = try Data(contentsOf: URL(fileURLWithPath: folder.file("one.webp")))
        #expect(animation.prefix(4) == Data("RIFF".utf8) && animation.range(of: Data("ANMF".utf8)) != nil)
        let again = try run(["export", one])
        #expect(again.code == 73 && again.words.contains("never overwritten"))
        #expect(
            !(try FileManager.default.contentsOfDirectory(atPath: folder.path)).contains { $0.hasPrefix(".share-") })
    }

    @Test func aContactSheetShowsTheRecording() throws {
        let sheet = folder.file("sheet.png")
        let shown = try run(["show", "1", "--sheet", sheet])
        #expect(shown.code == 0 && shown.out.count == 1, "\(shown.words)")
        let image = try ImageFile.read(sheet)
        // Four by three pictures of 320 x 180, with 8 pixels between them.
        #expect(image.size == PixelSize(width: 1_320, height: 572))
        var pictures = Set<[UInt8]>()
        for index in 0..<12 {
            let (left, top) = (8 + index % 4 * 328, 8 + index / 4 * 188)
            let row = (0..<180).flatMap { y in
                stride(from: 0, to: 320, by: 8).map { image[left + $0, top + y].green }
            }
            #expect(Set(row).count > 8, "picture \(index)")
            pictures.insert(row)
        }
        // The test video moves.
        #expect(pictures.count == 12)
        #expect(image[2, 2].green < 60)
        #expect(try run(["show", "1", "1", "--sheet", sheet]).code == 64)
        let nowhere = try run(["show", "1", "--sheet", folder.file("none/a.png")])
        #expect(nowhere.code == 73 && nowhere.words.contains("cannot write"))
        let spoilt = folder.file("spoilt.webm")
        try Data(contentsOf: URL(fileURLWithPath: file)).prefix(400).write(to: URL(fileURLWithPath: spoilt))
        #expect(try run(["show", spoilt, "--sheet", folder.file("b.png")]).code == 73)
    }

    /// What `share recordings open` serves, and to whom.
    @Test func theLibraryIsServedToItsAddressAlone() throws {
        let library = try ShareProcess(
            ["recordings", "open", "--no-browser"], in: folder, environment: ["XDG_CACHE_HOME": folder.path])
        let code = try #require(library.firstLine())
        let address = String(code.prefix { $0 != "?" })
        let jar = folder.file("cookies")
        func ask(
            _ path: String, _ more: [String] = [], hasCookie: Bool = true
        ) throws -> (status: String, bytes: Int, text: String) {
            let target = folder.file("answer")
            unlink(target)
            let cookie = hasCookie ? ["-b", jar, "-c", jar] : []
            let program = try Program(
                "curl", ["-s", "--path-as-is", "-o", target, "-w", "%{http_code}"] + cookie + more + [path])
            #expect(program.exitCode(seconds: 30) == 0)
            let data = (try? Data(contentsOf: URL(fileURLWithPath: target))) ?? Data()
            return (program.text.output, data.count, String(decoding: data, as: UTF8.self))
        }
        let size = try Data(contentsOf: URL(fileURLWithPath: file)).count
        // The code is exchanged once; the cookie is for the page's folder and for the browser that has it.
        for path in [address, address + "api/recordings", address + "files/1", address + "?code=", address + "?code=x"]
        {
            #expect(try ask(path).status == "403", "\(path)")
        }
        #expect(try ask(code).status == "200")
        #expect(try ask(code, hasCookie: false).status == "403")
        #expect(try ask(code).status == "200")
        #expect(try ask(address, hasCookie: false).status == "403")
        #expect(try ask(address, ["-H", "Cookie: share-session=0"], hasCookie: false).status == "403")
        let cookie = try String(contentsOfFile: jar, encoding: .utf8)
        #expect(cookie.contains("#HttpOnly_127.0.0.1") && cookie.contains(address.suffix(28)), "\(cookie)")
        #expect(try ask(address).text.contains("<title>Recordings</title>"))
        #expect(try ask(address + "api/recordings").text.contains("\"number\":1"))
        let whole = try ask(address + "files/1")
        #expect(whole.status == "200" && whole.bytes == size)
        for (range, status, bytes) in [
            ("bytes=10-19", "206", 10), ("bytes=-5", "206", 5), ("bytes=\(size - 3)-", "206", 3),
            ("bytes=0-999999999", "206", size), ("bytes=\(size)-", "416", 0), ("bytes=9-3", "416", 0), ("x", "416", 0),
        ] {
            unlink(folder.file("answer"))
            let part = try ask(address + "files/1", ["-H", "Range: \(range)"])
            #expect(part.status == status && part.bytes == bytes, "\(range)")
        }
        let picture = try ask(address + "pictures/1.png")
        #expect(picture.status == "200" && picture.bytes > 1_000)
        // Another page that has guessed the port, another name, and places outside.
        let origin = try #require(address.split(separator: "/").prefix(2).last.map { "http://\($0)/" })
        for path in [
            origin, origin + "x/", address + "files/2", address + "files/-1", address + "../", address + "files/../1",
            address + "pictures/1", address + "nothing",
        ] { #expect(try ask(path).status == "404", "\(path)") }
        #expect(try ask(address, ["-H", "Host: evil.example"]).status == "404")
        // Other types are those of forms; a part that is none.
        let json = ["-H", "Content-Type: application/json"]
        for (more, status) in [
            (["-d", #"{"number":1,"from":1,"to":2}"#], "400"), (json + ["-d", "{"], "400"),
            (json + ["-d", #"{"number":1,"from":2,"to":1}"#], "400"),
            (json + ["-d", #"{"number":9,"from":1,"to":2}"#], "409"),
            (json + ["-d", #"{"number":1,"from":90,"to":91}"#], "409"),
            (json + ["-d", #"{"number":1,"from":1,"to":2}"#], "200"),
        ] { #expect(try ask(address + "api/trim", more).status == status, "\(more)") }
        #expect(try MediaProbe(folder.file("Lab-part.webm")).duration == 1)
        library.interrupt()
        #expect(library.exitCode() == 0)
    }

    /// The browser of the desktop, which writes down what it was given and stays. It also prints, as xdg-open does for
    /// each browser that it does not find.
    private func fakeBrowser() throws -> String {
        let programs = folder.file("programs")
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
        let script = """
            #!/bin/sh
            echo "xdg-open: not found"
            echo "xdg-open: not found" >&2
            { echo "$1"; cat "$1"; stat -c '%a' "$1" "$(dirname "$1")"; env; } > \(folder.file("opened"))
            cat \(folder.file("fifo"))
            """
        mkfifo(folder.file("opened"), 0o600)
        mkfifo(folder.file("fifo"), 0o600)
        try script.write(toFile: programs + "/xdg-open", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: programs + "/xdg-open")
        return programs + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
    }

    /// Other users read the arguments of programs, and programs of others get no secrets.
    @Test func theBrowserGetsAFileThatForwardsOnceAndNoSecret() throws {
        let path = try fakeBrowser()
        let library = try ShareProcess(
            ["recordings", "open"], in: folder,
            environment: ["PATH": path, "SHARE_TOKEN": "a-token-of-the-host", "SHARE_TURN_CREDENTIAL": "credential"])
        let printed = try #require(library.firstLine())
        let reader = try Program("cat", [folder.file("opened")])
        #expect(reader.exitCode(seconds: 30) == 0)
        let opened = reader.text.output
        let lines = opened.split(separator: "\n")
        let page = try #require(lines.first)
        #expect(page.hasPrefix("/") && page.hasSuffix("/open.html") && lines.contains("600") && lines.contains("700"))
        #expect(!opened.contains("SHARE_TOKEN") && !opened.contains("a-token") && !opened.contains("credential"))
        #expect(opened.contains("PATH=") && opened.contains("HOME="))
        let start = try #require(opened.range(of: "http://127.0.0.1"))
        let address = String(opened[start.lowerBound...].prefix { $0 != "\"" })
        #expect(address != printed)
        for (number, status) in [(1, "200"), (2, "403")] {
            let program = try Program("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", address])
            #expect(program.exitCode(seconds: 30) == 0)
            #expect(program.text.output == status, "\(number)")
        }
        #expect(!FileManager.default.fileExists(atPath: String(page)))
        // The browser is still there, and outlives the page.
        library.interrupt()
        #expect(library.exitCode() == 0)
        #expect(library.lines == [printed] && !library.errorText.contains("xdg-open"), "\(library.errorText)")
        try "".write(toFile: folder.file("fifo"), atomically: false, encoding: .utf8)
    }

    @Test func playersGetNoSecret() throws {
        let programs = folder.file("players")
        try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
        try "#!/bin/sh\n/usr/bin/env\n".write(toFile: programs + "/mpv", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: programs + "/mpv")
        let process = try ShareProcess(
            ["recordings", "play", "1"], in: folder,
            environment: [
                "PATH": programs, "SHARE_TOKEN": "a-token", "SHARE_TURN_CREDENTIAL": "credential", "LC_TIME": "C",
                "SHARE_FIELD_TOKEN": "field",
            ])
        #expect(process.exitCode() == 0)
        let variables = process.lines
        #expect(variables.contains("LC_TIME=C") && !variables.contains { $0.hasPrefix("SHARE_") }, "\(variables)")
    }

    @Test func ffmpegAndPlayersThatAreMissingAreSaid() throws {
        for (verb, words) in [("export", "ffmpeg is not installed"), ("play", "there is no player")] {
            let process = try ShareProcess(["recordings", verb, "1"], in: folder, environment: ["PATH": folder.path])
            #expect(process.exitCode() != 0)
            #expect(process.errorText.contains(words), "\(process.errorText)")
        }
    }

    @Test func aBrokenFileIsAnErrorOfEveryVerb() throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        var generator = SeededGenerator(seed: 3)
        let noise = Data((0..<20_000).map { _ in UInt8(generator.below(256)) })
        var files = [("noise.webm", noise), ("empty.webm", Data()), ("header.webm", whole.prefix(300))]
        // The header is whole, and the rest is cut or noise.
        files.append(("short.webm", whole.prefix(20_000)))
        files.append(("spoilt.webm", whole.prefix(18_000) + noise + whole.suffix(20_000)))
        for (name, content) in files {
            let broken = folder.file(name)
            try content.write(to: URL(fileURLWithPath: broken))
            for arguments in [
                ["show", broken], ["trim", broken, "--from", "1", "-o", folder.file("out.webm")],
                ["reel", broken, file, "-o", folder.file("out.webm")], ["repair", broken],
            ] {
                let result = try run(arguments)
                #expect([0, 73].contains(result.code), "\(arguments): \(result.code ?? -1) \(result.words)")
                unlink(folder.file("out.webm"))
            }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == whole)
    }

    /// A catalogue that cannot be used does not keep anything from being recorded.
    @Test func aBrokenCatalogueIsSaidOnce() throws {
        let catalogue = folder.file("share/recordings.sqlite")
        try Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0) }).write(to: URL(fileURLWithPath: catalogue))
        for name in ["-wal", "-shm"] { unlink(catalogue + name) }
        let listed = try run(["list"])
        #expect(listed.code == 73 && listed.words.contains("cannot be used"), "\(listed.words)")
        let host = try ShareProcess(
            [
                "host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0", "--record",
                folder.file("other.webm"), "--for", "2",
            ], in: folder)
        #expect(host.exitCode() == 0)
        #expect(host.errorText.components(separatedBy: "will not list this").count == 2, "\(host.errorText)")
        #expect(try MediaProbe(folder.file("other.webm")).duration > 1)
    }
}
