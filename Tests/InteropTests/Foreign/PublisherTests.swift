import BrowserControl
import Foundation
import TestSupport
import Testing

extension InteropTests.NativeViewerTests {
    /// A relay with a publisher of Pion's.
    struct Publication {
        let folder: TemporaryFolder
        let relay: Program
        let publisher: Program
        /// For viewers.
        let link: String

        var environment: [String: String] { ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path] }

        func end() {
            publisher.kill()
            relay.kill()
        }

        /// - Parameter relay: options of the relay.
        init(
            _ tests: InteropTests.NativeViewerTests, _ folder: TemporaryFolder, codec: String, file: String,
            relay more: [String] = [], options: [String] = []
        ) async throws {
            self.folder = folder
            let token = InteropTests.NativeViewerTests.token
            try (token + "\n").write(toFile: folder.file("token"), atomically: true, encoding: .utf8)
            relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--publish-token", folder.file("token"), "--json"] + more,
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            let endpoint = try #require(try await tests.event("link", of: relay)["link"].string)
            publisher = try Program(
                ForeignPeer.pionProgram("publisher"),
                [
                    "--url", (endpoint.split(separator: "#").first.map(String.init) ?? "") + "/whip", "--token", token,
                    "--codec", codec, "--file", file, "--seconds", "60",
                ] + options)
            link = try #require(try await tests.event("live", of: relay)["link"].string)
        }

        func share(_ arguments: [String], more: [String: String] = [:]) throws -> Program {
            try Program(Program.share(), arguments, environment: environment.merging(more) { $1 })
        }
    }

    private func show(_ publication: Publication) async throws {
        let snapshot = publication.folder.file("snapshot.png")
        let viewer = try publication.share([
            "join", publication.link, "--headless", "--snapshot", snapshot, "--for", "2s", "--json",
        ])
        #expect(viewer.exitCode(seconds: 60) == 0, "\(viewer.text.errors)\(publication.relay.text.errors)")
        let likeness = try #require(try await likeness(snapshot))
        #expect(likeness > 25, "\(likeness) dB")
    }

    /// As FFmpeg's WHIP muxer does it: the publisher is the DTLS server.
    @Test(arguments: ["passive", "active"])
    func aPublisherChoosesItsDTLSRole(_ role: String) async throws {
        let folder = try TemporaryFolder()
        let publication = try await Publication(
            self, folder, codec: "vp9", file: try await encode("vp9", in: folder), options: ["--setup", role])
        defer { publication.end() }
        try await show(publication)
    }

    /// The largest payload that a datagram of 1,500 bytes can have.
    @Test func packetsThatFillEthernetArePassedOn() async throws {
        let folder = try TemporaryFolder()
        let publication = try await Publication(
            self, folder, codec: "h264", file: try await encode("h264", isNoisy: true, in: folder),
            options: ["--largest", "1450"])
        defer { publication.end() }
        try await show(publication)
        #expect(!publication.relay.text.errors.contains("too long"))
    }

    /// A tone in Ogg, in packets of 20 ms.
    private func tone(in folder: TemporaryFolder) async throws -> String {
        let file = folder.file("tone.ogg")
        try await ffmpeg([
            "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=5", "-ac", "2", "-c:a", "libopus",
            "-frame_duration", "20", "-f", "ogg", file,
        ])
        return file
    }

    /// Nothing waits for a frame that never comes: viewers and recorders, early and late ones.
    @Test func audioAloneIsPlayedAndRecorded() async throws {
        let folder = try TemporaryFolder()
        let publication = try await Publication(self, folder, codec: "opus", file: try await tone(in: folder))
        defer { publication.end() }
        for _ in 1...2 {
            let viewer = try publication.share(["join", publication.link, "--headless", "--for", "3s", "--json"])
            #expect(viewer.exitCode(seconds: 40) == 0, "\(viewer.text.errors)\(publication.relay.text.errors)")
            let events = viewer.lines(.standard).compactMap { try? JSON(parsing: $0) }
            #expect(events.contains { $0["event"].string == "audio-alone" }, "\(viewer.text.output)")
            let last = try #require(events.last { $0["event"].string == "statistics" })
            #expect(last["audioFrames"].number ?? 0 > 48_000 && last["frames"].number == 0, "\(last.text)")
        }
        let file = folder.file("alone.webm")
        let recorder = try publication.share(["record", publication.link, "-o", file, "--for", "3s"])
        #expect(recorder.exitCode(seconds: 40) == 0, "\(recorder.text.errors)")
        let report = try Program(
            "ffprobe", ["-v", "error", "-show_entries", "stream=codec_name:format=duration", "-of", "csv=p=0", file])
        #expect(report.exitCode(seconds: 20) == 0, "\(report.text.errors)")
        let lines = report.lines(.standard)
        #expect(lines.first == "opus" && lines.count == 2, "\(lines)")
        #expect(abs((lines.last.flatMap { Double($0) } ?? 0) - 3) < 1, "\(lines)")
    }

    @Test(arguments: Browser.Kind.allCases)
    func thePagePlaysAudioAlone(_ kind: Browser.Kind) async throws {
        let folder = try TemporaryFolder()
        let publication = try await Publication(self, folder, codec: "opus", file: try await tone(in: folder))
        defer { publication.end() }
        try await Browser.with(kind) { browser in
            try await browser.recordPeers()
            try await browser.watch(publication.link)
            try await browser.waitForState("playing", within: .seconds(20))
            let said = try await browser.evaluate("document.getElementById('said').textContent")
            #expect(said.string == "This broadcast has audio alone.", "\(said.text)")
            _ = try await browser.inbound("audio", until: "entry.packetsReceived > 40")
        }
    }

    /// libavcodec is hidden from the viewer by an empty file of its name. The relay's operator is not asked.
    @Test func aViewerThatLacksTheCodecIsToldSoBeforeItAsks() async throws {
        let folder = try TemporaryFolder()
        let publication = try await Publication(
            self, folder, codec: "h264", file: try await encode("h264", in: folder))
        defer { publication.end() }
        let hidden = try TemporaryFolder()
        for name in ["libavcodec.so.59", "libavutil.so.57"] {
            try Data().write(to: URL(fileURLWithPath: hidden.file(name)))
        }
        let viewer = try publication.share(
            ["join", publication.link, "--headless", "--json"], more: ["LD_LIBRARY_PATH": hidden.path])
        #expect(viewer.exitCode(seconds: 40) == 80, "\(viewer.text.errors)")
        let errors = viewer.text.errors
        #expect(errors.contains("share: the broadcast's video is H264, which this viewer cannot show"), "\(errors)")
        #expect(errors.contains("Install libavcodec59, open the link in a browser"), "\(errors)")
        #expect(!errors.contains("waiting for the host") && !viewer.text.output.contains("\"knock\""), "\(errors)")
        // A recorder decodes nothing.
        let recorder = try publication.share(
            ["record", publication.link, "-o", folder.file("h264.mkv"), "--for", "2s"],
            more: ["LD_LIBRARY_PATH": hidden.path])
        #expect(recorder.exitCode(seconds: 40) == 0, "\(recorder.text.errors)")
    }
}
