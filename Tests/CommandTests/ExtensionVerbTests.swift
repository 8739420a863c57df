import BusSupport
import Foundation
import TestSupport
import Testing

/// `share extension new`, and a host that broadcasts to the program of an extension, as a user runs them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ExtensionVerbTests {
    private func run(_ arguments: [String], in folder: TemporaryFolder) throws -> (code: Int32?, words: String) {
        let process = try ShareProcess(arguments, in: folder)
        return (process.exitCode(), process.errorText)
    }

    /// Writes a manifest whose program is a script that starts the probe.
    private func manifest(_ behaviour: String, in folder: TemporaryFolder, log: String) throws -> String {
        let script = folder.file("upload")
        let text = "#!/bin/sh\nexec '\(try Program.built("probe-extension"))' \(behaviour) '\(log)'\n"
        try text.write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let manifest = folder.file("manifest.json")
        try #"{"id": "com.example.probe", "name": "Probe", "upload": "upload"}"#.write(
            toFile: manifest, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        return manifest
    }

    /// A process of a session and a group of its own, whose environment tells nothing either.
    @Test func whatAProgramForksTwiceDoesNotOutliveAHostThatIsKilled() async throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let script = folder.file("upload")
        let child = "setsid env -i /bin/sh -c 'echo $$ > \(folder.file("child")); exec sleep 600'"
        try "#!/bin/sh\n(\(child) & )\nexec '\(try Program.built("probe-extension"))' record '\(folder.file("log"))'\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let manifest = folder.file("manifest.json")
        try #"{"id": "com.example.probe", "name": "Probe", "upload": "upload"}"#
            .write(toFile: manifest, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        #expect(try run(["extension", "install", manifest], in: install).code == 0)
        for isKilled in [true, false] {
            for name in ["child", "log"] { unlink(folder.file(name)) }
            let host = try Terminal(Self.host, environment: ["XDG_DATA_HOME": install.path])
            #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
            try host.type("y", "Enter")
            #expect(await folder.waitForLines("log") { $0.contains("video 1280x720 seen") })
            #expect(await folder.waitForLines("child") { !$0.isEmpty })
            let process = try #require(pid_t(folder.lines("child").first ?? ""))
            let program = try #require(pid_t(folder.lines("log").first?.dropFirst("process ".count) ?? ""))
            #expect(kill(process, 0) == 0)
            // The host is the parent of the program's supervisor.
            let supervisor = try #require(Self.parent(of: program))
            let owner = try #require(Self.parent(of: supervisor))
            if isKilled { kill(owner, SIGKILL) } else { try host.type("C-c") }
            for ended in [process, program, supervisor] { #expect(await Self.hasEnded(ended), "\(isKilled)") }
        }
    }

    private static func parent(of process: pid_t) -> pid_t? {
        (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8))?.split(separator: ")").last?
            .split(separator: " ").dropFirst().first.flatMap { pid_t($0) }
    }

    /// Waits for 30 s at most. Nothing tells of the end of a process that is not one's own child, so it is looked at.
    private static func hasEnded(_ process: pid_t) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            if state?.contains(") Z") ?? true { return true }
            await Task.yield()
        }
        return false
    }

    /// A program that others can replace is not run, whenever that came to be.
    @Test func aProgramThatOthersCanReplaceIsNotRun() async throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let file = try manifest("record", in: folder, log: folder.file("log"))
        #expect(try run(["extension", "install", file], in: install).code == 0)
        chmod(folder.path, 0o770)
        let refused = try run(["extension", "install", file], in: install)
        #expect(refused.code != 0 && refused.words.contains("others may write to \(folder.path)"), "\(refused.words)")
        chmod(folder.path, 0o700)
        let host = try Terminal(Self.host, environment: ["XDG_DATA_HOME": install.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        // After the question, before the start.
        chmod(folder.file("upload"), 0o777)
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("others can replace it") }, "\(host.screen())")
        #expect(folder.lines("log").isEmpty)
    }

    /// What other users can read is no place for a secret, and a program gets none that is not its own.
    @Test func secretsComeFromFilesOrTheEnvironmentAndProgramsGetNoOthers() async throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let script = folder.file("upload")
        try
            "#!/bin/sh\nenv > '\(folder.file("env"))'\nexec '\(try Program.built("probe-extension"))' record '\(folder.file("log"))'\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let manifest = folder.file("manifest.json")
        let fields = ["token", "stream-key", "title", "room"].map { #"{"name": "\#($0)", "label": "\#($0)"}"# }
        try
            #"{"id": "com.example.probe", "name": "Probe", "upload": "upload", "fields": [\#(fields.joined(separator: ","))]}"#
            .write(toFile: manifest, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        #expect(try run(["extension", "install", manifest], in: install).code == 0)
        try "of a file \nmore\n".write(toFile: folder.file("secret"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("secret"))
        let host = try Terminal(
            Self.host + ["--field-file", "token=\(folder.file("secret"))", "--field", "title=-", "--field", "room=1"],
            environment: [
                "XDG_DATA_HOME": install.path, "SHARE_FIELD_STREAM_KEY": "of the environment",
                "SHARE_TOKEN": "0123456789abcdef",
                "SHARE_TURN_CREDENTIAL": "credential",
            ])
        #expect(host.waitUntil { $0.contains("can be read by every user") && $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.hasSuffix("title:") })
        try host.type("of the user", "Enter")
        #expect(host.waitUntil { $0.contains("broadcasting to \"Probe\" alone") })
        let values = #"["room=1", "stream-key=of the environment", "title=of the user", "token=of a file"]"#
        #expect(await folder.waitForLines("log") { $0.contains { $0.hasSuffix(values) } }, "\(folder.lines("log"))")
        let variables = folder.lines("env")
        #expect(variables.contains { $0.hasPrefix("HOME=") } && variables.contains { $0.hasPrefix("SHARE_EXTENSION=") })
        #expect(!variables.contains { $0.hasPrefix("SHARE_") && !$0.hasPrefix("SHARE_EXTENSION=") }, "\(variables)")
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by") })
    }

    private static let host = [
        "host", "--preferred-extension", "com.example.probe", "--source", "test", "--audio", "none", "--json",
    ]

    @Test func aHostIsAskedAndBroadcastsToTheProgram() async throws {
        let folder = try TemporaryFolder()
        let terminal = try Terminal(Self.host)
        #expect(terminal.waitUntil { $0.contains("com.example.probe is not installed") })
        let file = try manifest("record", in: folder, log: folder.file("log"))
        let install = try run(["extension", "install", file], in: terminal.hostFolder)
        #expect(install.code == 0, "\(install.words)")
        #expect(install.words.contains(folder.file("upload")))

        let host = try Terminal(Self.host, environment: ["XDG_DATA_HOME": terminal.hostFolder.path])
        #expect(host.waitUntil { $0.contains("wants to broadcast to \"Probe\"") && $0.hasSuffix("[n]o:") })
        // The program is not started before the user has answered.
        #expect(folder.lines("log").isEmpty)
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("broadcasting to \"Probe\" alone") })
        #expect(await folder.waitForLines("log") { $0.contains("video 1280x720 seen") })
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("ended by Ctrl-C") || $0.contains("ended by SIGINT") })
        #expect(await folder.waitForLines("log") { $0.last == "finished" })
    }

    @Test func aBroadcastToAProgramIsControlledLikeAnyOther() async throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let file = try manifest("record", in: folder, log: folder.file("log"))
        #expect(try run(["extension", "install", file], in: install).code == 0)
        let arguments = [
            "host", "--preferred-extension", "com.example.probe", "--source", "test", "--record",
            folder.file("all.webm"), "--clips", "5",
        ]
        let host = try Terminal(arguments, environment: ["XDG_DATA_HOME": install.path])
        func control(_ arguments: String...) throws -> (code: Int32?, lines: [String]) {
            let process = try ShareProcess(arguments, in: host.hostFolder)
            return (process.exitCode(), process.lines)
        }
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("broadcasting to \"Probe\" alone") })
        #expect(await folder.waitForLines("log") { $0.contains("video 1280x720 seen") })
        // The control socket opens after that line.
        #expect(host.waitUntil { $0.contains("LIVE 00:") })
        let status = try control("status")
        #expect(status.code == 0 && status.lines.first?.contains("  live  00:00:") == true, "\(status.lines)")
        #expect(status.lines.first?.contains("  to \"Probe\"  ") == true, "\(status.lines)")

        #expect(try control("clip", "-o", folder.file("clip.webm")).code == 0)
        #expect(try control("mute", "--system").code == 0)
        #expect(try control("status").lines.first?.hasSuffix("system audio muted") == true)
        #expect(try control("unmute").code == 0)
        #expect(try control("pause").code == 0)
        #expect(await folder.waitForLines("log") { $0.contains("paused") })
        #expect(host.waitUntil { $0.contains("PAUSED 00:") })
        // One sample of each kind may have been under way.
        let rest = folder.lines("log").drop { $0 != "paused" }
        #expect(rest.count <= 3, "\(rest)")
        #expect(try control("resume").code == 0)
        #expect(await folder.waitForLines("log") { $0.contains("resumed") })
        #expect(try control("viewers").lines.isEmpty)
        #expect(try control("stop").code == 0)
        #expect(host.waitUntil { $0.contains("ended by share stop") })
        #expect(await folder.waitForLines("log") { $0.last == "finished" })
        for name in ["all.webm", "clip.webm"] {
            let media = try MediaProbe(folder.file(name))
            #expect(media.streams == ["vp8", "opus"], "\(name)")
            #expect(try media.decodingErrors() == "")
        }
    }

    /// The host's screen is the session's, so that its lock pauses the broadcast, and the bus names the service.
    @Test func aBroadcastToAProgramPausesWhileTheSessionIsLocked() async throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let file = try manifest("record", in: folder, log: folder.file("log"))
        #expect(try run(["extension", "install", file], in: install).code == 0)
        let bus = try TestBus()
        let login = try FakeLogin(bus)
        let display = try VirtualDisplay(width: 320, height: 240)
        let host = try Terminal(
            ["host", "--preferred-extension", "com.example.probe", "--display", display.name, "--audio", "none"],
            environment: ["XDG_DATA_HOME": install.path, "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "DISPLAY": ""])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(await folder.waitForLines("log") { $0.contains("video 320x240 seen") })
        #expect(login.isObserved())
        login.send("Lock")
        #expect(host.waitUntil { $0.contains("your session is locked") })
        #expect(await folder.waitForLines("log") { $0.contains("paused") })
        login.send("Unlock")
        #expect(host.waitUntil { $0.hasSuffix("Resume the broadcast? [y]es, [n]o (ends it):") }, "\(host.screen())")
        // A key counts from a second after the question; "a" is no answer to this one.
        #expect(host.typeUntil("a") { $0.contains("Press y or n.") })
        try host.type("y")
        #expect(await folder.waitForLines("log") { $0.contains("resumed") })
    }

    @Test func theProgramsReasonIsShown() throws {
        let folder = try TemporaryFolder()
        let install = try TemporaryFolder()
        let file = try manifest("fail", in: folder, log: folder.file("log"))
        #expect(try run(["extension", "install", file], in: install).code == 0)
        let host = try Terminal(Self.host, environment: ["XDG_DATA_HOME": install.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("The account is closed.") && $0.contains("Sign in again.") })
    }

    @Test func aManifestWhoseProgramIsMissingIsNotInstalled() throws {
        let folder = try TemporaryFolder()
        let file = try manifest("record", in: folder, log: folder.file("log"))
        try FileManager.default.removeItem(atPath: folder.file("upload"))
        let install = try run(["extension", "install", file], in: folder)
        #expect(install.code == 67)
        #expect(install.words.contains("is not a program that can be run"))
    }

    /// The examples are built and run with these tests.
    @Test func aNewExtensionIsTheExample() throws {
        let folder = try TemporaryFolder()
        let share = try Program.share()
        let command = ["-c", "cd '\(folder.path)' && '\(share)' extension new com.example.snapshots"]
        #expect(try Program("/bin/sh", command).exitCode(seconds: 20) == 0)
        let package = folder.url.appendingPathComponent("Snapshots")
        let examples = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Examples/Sources").standardized
        for name in ["Setup", "Upload"] {
            let written = try String(
                contentsOf: package.appendingPathComponent("Sources/\(name)/\(name).swift"), encoding: .utf8)
            let example = try String(
                contentsOf: examples.appendingPathComponent("Snapshot\(name)/\(name).swift"), encoding: .utf8)
            #expect(written == example)
        }
        let description = try Data(contentsOf: package.appendingPathComponent("manifest.json"))
        let values = try #require(JSONSerialization.jsonObject(with: description) as? [String: String])
        #expect(values["id"] == "com.example.snapshots" && values["name"] == "Snapshots")

        #expect(try Program("/bin/sh", command).exitCode(seconds: 20) != 0)
        #expect(try Program(share, ["extension", "new", "../../etc"]).exitCode(seconds: 20) == 64)
    }

    /// The example with both of its extensions: the host's frames go through them to the conference.
    @Test func conferenceTakesBroadcastsThroughItsOwnExtensions() async throws {
        let folder = try TemporaryFolder()
        let manifest = folder.file("conference.json")
        let conference = try Program(
            Program.built("Conference"),
            [
                "--headless", "--accept", "any", "--listen", "127.0.0.1", "--manifest", manifest, "--snapshot",
                folder.file("seen.png"),
            ], environment: ["XDG_DATA_HOME": folder.path])
        _ = try await conference.line(.standard, within: .seconds(20)) { $0.hasPrefix("https://") }
        _ = try (Program.built("ConferenceSetup"), Program.built("ConferenceUpload"))
        let install = try TemporaryFolder()
        let installation = try run(["extension", "install", manifest], in: install)
        #expect(installation.code == 0, "\(installation.words)")
        let host = try Terminal(
            ["host", "--preferred-extension", "com.example.conference", "--source", "test", "--name", "Budget"],
            environment: ["XDG_DATA_HOME": install.path])
        #expect(host.waitUntil { $0.contains("wants to broadcast to \"Conference\"") && $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("Title (empty: do not broadcast):") })
        try host.type("Monday", "Enter")
        let seen = try await conference.line(.standard, within: .seconds(20)) { $0.hasPrefix("shows ") }
        #expect(seen == "shows Budget: Monday")
        // What the service says goes back through the program.
        #expect(host.waitUntil { $0.contains("Welcome!") }, "\(host.screen())")
        conference.interrupt()
    }

    @Test func theExampleAsksForATitleAndSavesAnImage() async throws {
        let folder = try TemporaryFolder()
        let manifest = folder.file("manifest.json")
        let programs = try ["setup": Program.built("SnapshotSetup"), "upload": Program.built("SnapshotUpload")]
        let values = programs.merging(["id": "com.example.probe", "name": "Snapshots"]) { $1 }
        try JSONSerialization.data(withJSONObject: values).write(to: URL(fileURLWithPath: manifest))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: manifest)
        #expect(try run(["extension", "install", manifest], in: folder).code == 0)
        let host = try Terminal(Self.host, environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") })
        try host.type("y", "Enter")
        #expect(host.waitUntil { $0.contains("Title of the broadcast") })
        try host.type("Monday", "Enter")
        #expect(host.waitUntil { $0.contains("upload: Monday has started") })
        // In a folder that nobody can foresee or look into.
        func saved() -> String? {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            return names.first { $0.hasPrefix("upload-") }.map { folder.file($0) }
        }
        #expect(
            host.waitUntil { _ in saved().map { FileManager.default.fileExists(atPath: $0 + "/broadcast.pgm") } ?? false
            })
        let place = try #require(saved())
        let mode = try FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        try host.type("C-c")
        #expect(host.waitUntil { $0.contains("upload: Monday has ended after") })
        let image = try Data(contentsOf: URL(fileURLWithPath: place + "/broadcast.pgm"))
        #expect(image.starts(with: Data("P5 1280 720 255\n".utf8)) && image.count == 1_280 * 720 + 16)
    }
}
