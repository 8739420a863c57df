import BusSupport
import Foundation
import SessionBus
import TestSupport
import Testing

/// `share record --screen`: the own screen, without viewers.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ScreenRecordingTests {
    private let folder: TemporaryFolder
    private let display: VirtualDisplay

    init() throws {
        folder = try TemporaryFolder()
        display = try VirtualDisplay(width: 320, height: 240)
    }

    private func record(_ arguments: [String], environment: [String: String] = [:]) throws -> ShareProcess {
        try ShareProcess(
            ["record", "--screen", "--json", "--display", display.name, "--audio", "none"] + arguments, in: folder,
            environment: environment)
    }

    @Test func theScreenIsRecordedWithoutAPortAndALink() throws {
        let file = folder.file("a.webm")
        let recorder = try record(["-o", file])
        #expect(recorder.event("recording")?["file"] as? String == file)
        // No port of TCP or UDP.
        let sockets = try Program("ss", ["-Hltunp"])
        _ = sockets.exitCode(seconds: 30)
        #expect(!sockets.text.output.contains("pid=\(recorder.processID),"))
        #expect(
            try eventually {
                let status = try ShareProcess(["status", "--json"], in: folder)
                return status.exitCode() == 0 && status.lines.first?.contains("a file") == true
            })
        let stop = try ShareProcess(["stop"], in: folder)
        #expect(stop.exitCode() == 0)
        #expect(recorder.exitCode() == 0, "\(recorder.errorText)")
        #expect(recorder.event("recorded")?["file"] as? String == file)
        let media = try MediaProbe(file)
        #expect(media.streams == ["vp8"])
        #expect(try media.decodingErrors() == "")
        #expect(recorder.event("link", seconds: 0) == nil)
    }

    @Test func itEndsByItselfAndPauses() throws {
        let recorder = try record(["-o", folder.path + "/", "--for", "4"])
        #expect(recorder.event("recording") != nil)
        #expect(try eventually { try ShareProcess(["pause"], in: folder).exitCode() == 0 })
        #expect(recorder.event("paused") != nil)
        let resume = try ShareProcess(["resume"], in: folder)
        #expect(resume.exitCode() == 0)
        #expect(recorder.exitCode() == 0, "\(recorder.errorText)")
    }

    @Test func aClickOnTheNotificationOpensTheFile() throws {
        let bus = try TestBus()
        let opened = folder.file("opened")
        try "#!/bin/sh\necho \"$1\" > \(opened).part; mv \(opened).part \(opened)\n".write(
            toFile: folder.file("xdg-open"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("xdg-open"))
        let desktop = try bus.service("org.freedesktop.Notifications") { call in
            call.member == "Notify" ? [.uint32(7)] : nil
        }
        let file = folder.file("a.webm")
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let recorder = try record(
            ["-o", file, "--for", "1"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "PATH": folder.path + ":" + path])
        #expect(recorder.exitCode() == 0, "\(recorder.errorText)")
        let call = desktop.message { $0.member == "Notify" && $0.arguments[3].text?.contains("saved") == true }
        #expect(try #require(call).arguments[4].text == "a.webm")
        desktop.connection.signal(
            "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "ActionInvoked",
            [.uint32(7), .text("default")])
        #expect(folder.waitForFile("opened", seconds: 20))
        #expect(try String(contentsOfFile: opened, encoding: .utf8) == file + "\n")
    }

    @Test func aScreenThatIsBroadcastIsNotRecordedBesides() throws {
        let host = try ShareProcess(
            [
                "host", "--accept", "any", "--listen", "127.0.0.1:0", "--json", "--display", display.name, "--audio",
                "none",
            ], in: folder)
        #expect(host.event("link") != nil)
        let recorder = try record(["-o", folder.file("a.webm")])
        #expect(recorder.exitCode() == 79)
        #expect(!FileManager.default.fileExists(atPath: folder.file("a.webm")))
    }

    @Test(arguments: [["--screen", "https://x"], ["--screen", "--watch"], ["--source", "screen"], ["--mic"]])
    func optionsThatDoNotFitAreRefused(arguments: [String]) throws {
        #expect(try ShareProcess(["record"] + arguments, in: folder).exitCode() == 64)
    }
}
