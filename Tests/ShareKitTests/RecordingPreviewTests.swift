import BrowserControl
import BusSupport
import Foundation
import LinuxRuntime
import MediaCore
import SessionBus
import TestSupport
import Testing

@testable import ShareKit

@Suite(.serialized, .timeLimit(.minutes(1)))
struct RecordingPreviewTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A recording of some 60 frames.
    private func makeRecording() async throws -> Recording {
        let source = try ApplicationSource(name: "Budget", width: 64, height: 48)
        let recorder = ScreenRecorder(
            source, framesPerSecond: 60, makeMicrophone: { FakeMicrophone() }, systemBroadcasts: nil,
            confirm: { _ in true })
        try source.fill(0)
        try await recorder.startRecording(to: folder.file("a.webm"))
        let player = NamedThread("player") {
            let begin = MonotonicClock.now
            let end = Monitor(false)
            for step in 1...60 {
                try? source.fill(UInt8(step))
                _ = end.wait(until: begin + .milliseconds(step * 20)) { $0 ? () : nil }
            }
        }
        await player.ended()
        return try await recorder.stopRecording()
    }

    /// An `xdg-open` that writes down what it was given, and an environment that has it.
    private func fakeDesktop(bus: String? = nil) throws -> Desktop {
        let script = folder.file("xdg-open")
        mkfifo(folder.file("opened"), 0o600)
        try "#!/bin/sh\necho \"$1\" > \(folder.file("opened"))\n"
            .write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        return Desktop(["PATH": folder.path, "DBUS_SESSION_BUS_ADDRESS": bus ?? ""])
    }

    /// What was opened.
    private func opened() async throws -> String {
        try await Program("cat", [folder.file("opened")]).line(.standard, within: .seconds(20)) { _ in true }
    }

    @Test func thePagePlaysAndTrimsTheRecordingAndTellsWhenItIsLeft() async throws {
        let recording = try await makeRecording()
        let preview = try await recording.preview(on: try fakeDesktop())
        // Other users can read the arguments of programs, and get nothing by this one.
        let file = try await opened()
        #expect(file.hasPrefix("/") && file.hasSuffix("/open.html"))
        let forwarding = try String(contentsOfFile: file, encoding: .utf8)
        #expect(forwarding.contains("http://127.0.0.1:") && !forwarding.contains(preview.url))
        let page = String(preview.url.prefix { $0 != "?" })
        try await Browser.with(.chromium) { browser in
            try await browser.open(preview.url)
            let seen = try await browser.evaluate(
                """
                (async () => {
                    const video = document.getElementById("video");
                    while (video.readyState < 2) await new Promise(done => setTimeout(done, 20));
                    const answer = await fetch("api/trim", {
                        method: "POST", headers: { "Content-Type": "application/json" },
                        body: JSON.stringify({ number: 1, from: 0.2, to: 0.6 }),
                    });
                    return { width: video.videoWidth, hidden: document.getElementById("player").hidden,
                        status: answer.status, name: (await answer.json()).name };
                })()
                """)
            #expect(seen["width"] == 64 && seen["hidden"] == .bool(false), "\(seen.text)")
            #expect(seen["status"] == 200 && seen["name"] == "a-part.webm", "\(seen.text)")
            // A page that is loaded again was not left.
            try await browser.open(page)
            try await browser.open("about:blank")
            await preview.wait()
        }
        let part = try #require(preview.parts.first)
        #expect(part.path == folder.file("a-part.webm") && abs(part.duration / .milliseconds(400) - 1) < 0.01)
        await preview.close()
        await preview.wait()
    }

    @Test func theFileManagerShowsTheFile() async throws {
        let bus = try TestBus()
        let manager = try bus.service("org.freedesktop.FileManager1") { $0.member == "ShowItems" ? [] : nil }
        let recording = try await makeRecording()
        try await recording.share(with: try fakeDesktop(bus: bus.address))
        let call = try #require(manager.call(of: "ShowItems"))
        let shown = call.arguments.first?.list?.first?.text
        #expect(shown == URL(fileURLWithPath: recording.path).absoluteString)
    }

    @Test func withoutAFileManagerTheFolderIsOpened() async throws {
        let bus = try TestBus()
        let recording = try await makeRecording()
        try await recording.share(with: try fakeDesktop(bus: bus.address))
        #expect(try await opened() == folder.path)
        let failure = await #expect(throws: ShareKitError.self) { try await recording.share(with: Desktop([:])) }
        #expect(failure?.remedy == "It is \(recording.path).")
        recording.discard()
        await #expect(throws: ShareKitError.self) { try await recording.share(with: Desktop([:])) }
    }
}
