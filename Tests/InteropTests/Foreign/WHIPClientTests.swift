import BrowserControl
import Foundation
import TestSupport
import Testing

extension InteropTests {
    /// Other implementations of WebRTC publish to a real `share service` by WHIP and its fixed token (RFC 9725).
    @Suite struct WHIPClientTests {
        private static let token = "a-token-for-foreign-clients"

        /// A service, and the URL of its endpoint.
        private func withService(
            in folder: TemporaryFolder, keeping: [String]? = nil, _ body: (Program, String) async throws -> Void
        ) async throws {
            let service = try Program(
                Program.share(),
                [
                    "service", "--id", "com.example.conference", "--headless", "--listen", "127.0.0.1:0", "--accept",
                    "any",
                    "--json", "--token", Self.token,
                ] + (keeping ?? ["--snapshot", folder.file("seen.png")]),
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            defer { service.kill() }
            let first = try JSON(parsing: try await service.line(.standard, within: .seconds(20)) { _ in true })
            let link = try #require(first["link"].string)
            try await body(service, (link.split(separator: "#").first.map(String.init) ?? "") + "/whip")
        }

        private func event(_ name: String, of service: Program) async throws -> JSON {
            try JSON(
                parsing: try await service.line(.standard, within: .seconds(20)) {
                    $0.contains("\"event\":\"\(name)\"")
                })
        }

        @Test func aiortcPublishes() async throws {
            let folder = try TemporaryFolder()
            try await withService(in: folder) { service, url in
                let program = try ForeignPeer.aiortc.program("publisher.py")
                let client = try Program(
                    program[0], [program[1], "--url", url, "--token", Self.token, "--seconds", "2"])
                let picture = try await event("first-picture", of: service)
                #expect(picture["width"].number == 640 && picture["height"].number == 480)
                let report = try JSON(
                    parsing: try await client.line(.standard, within: .seconds(20)) { $0.hasPrefix("{") })
                #expect(report["status"].number == 201 && report["deleted"].number == 200, "\(report.text)")
                let closed = try await event("broadcast-closed", of: service)
                #expect(closed["code"] == "hostEnded")
            }
        }

        @Test(arguments: Browser.Kind.allCases)
        func browsersPublish(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            try await withService(in: folder) { service, url in
                try await Browser.with(kind) { browser in
                    #expect(try await browser.publish(to: url, token: Self.token, codec: "vp8") == 201)
                    let picture = try await event("first-picture", of: service)
                    #expect(picture["width"].number == 320 && picture["height"].number == 240)
                    #expect(try await browser.endPublishing(token: Self.token) == 200)
                    _ = try await event("broadcast-closed", of: service)
                }
            }
        }

        /// A service that only records takes what it could not show.
        @Test(arguments: ["vp9", "av1", "h264"])
        func otherCodecsAreRecorded(codec: String) async throws {
            let folder = try TemporaryFolder()
            try await withService(in: folder, keeping: ["--record", folder.path]) { service, url in
                try await Browser.with(.chromium) { browser in
                    #expect(try await browser.publish(to: url, token: Self.token, codec: codec) == 201)
                    let path = try #require(try await event("recording", of: service)["file"].string)
                    #expect(path.hasSuffix(codec == "h264" ? ".mkv" : ".webm"))
                    let sent = try await browser.evaluate(
                        """
                        new Promise(done => {
                            const poll = async () => {
                                const reports = [...(await window.peer.getStats()).values()];
                                const frames = reports.find(each => each.type === "outbound-rtp")?.framesSent ?? 0;
                                if (frames >= 40) done(frames); else setTimeout(poll, 100);
                            };
                            poll();
                        })
                        """)
                    #expect(try await browser.endPublishing(token: Self.token) == 200)
                    let recorded = try await event("recorded", of: service)
                    #expect(recorded["file"].string == path)
                    let described = try await output(
                        "ffprobe", ["-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", path])
                    #expect(described.output == "\(codec),320,240\n")
                    // The whole file is decoded without a complaint.
                    let decoded = try await output(
                        "ffmpeg", ["-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"])
                    let frames = decoded.output.split(separator: "\n").count { !$0.hasPrefix("#") }
                    #expect(decoded.errors.isEmpty && Double(frames) >= (sent.number ?? 0) - 2)
                }
            }
        }

        private func output(_ name: String, _ arguments: [String]) async throws -> (output: String, errors: String) {
            let program = try Program(name, ["-v", "error"] + arguments)
            #expect(await program.exitCode() == 0)
            return program.text
        }
    }
}
