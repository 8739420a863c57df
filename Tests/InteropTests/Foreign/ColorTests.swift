import BrowserControl
import Foundation
import TestSupport
import Testing

extension InteropTests {
    /// Chromium publishes full range at a relay, which only a header extension tells.
    @Suite struct ColorTests {
        private static let token = "a-token-for-foreign-clients"

        private func event(_ name: String, of relay: Program) async throws -> JSON {
            try JSON(
                parsing: try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"\(name)\"") })
        }

        /// The grey of the middle of both halves of an image.
        private func greys(of file: String, in folder: TemporaryFolder) async throws -> [Int] {
            let raw = folder.file("raw")
            let program = try Program(
                "ffmpeg", ["-v", "error", "-nostdin", "-y", "-i", file, "-f", "rawvideo", "-pix_fmt", "rgb24", raw])
            guard await program.exitCode() == 0 else { throw Program.Failure(program.text.errors) }
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
            guard bytes.count >= 320 * 240 * 3 else { return [] }
            return [80, 240].map { Int(bytes[(120 * 320 + $0) * 3 + 1]) }
        }

        private func isRight(_ greys: [Int]) -> Bool {
            greys.count == 2 && abs(greys[0] - 64) <= 3 && abs(greys[1] - 200) <= 3
        }

        /// A browser, `share join` and `share record` see it with its contrast. In limited range it would be 56 and
        /// 214.
        @Test(arguments: ["vp8", "vp9", "av1"]) func fullRangeKeepsItsContrast(codec: String) async throws {
            let folder = try TemporaryFolder()
            let own = ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path]
            try (Self.token + "\n").write(toFile: folder.file("token"), atomically: true, encoding: .utf8)
            let relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--publish-token", folder.file("token"), "--json"],
                environment: own)
            defer { relay.kill() }
            let link = try #require(try await event("link", of: relay)["link"].string)
            let url = (link.split(separator: "#").first.map(String.init) ?? "") + "/whip"
            try await Browser.with(.chromium) { publisher in
                #expect(
                    try await publisher.publish(to: url, token: Self.token, codec: codec, .greyOfFullRange) == 201)
                let live = try #require(try await event("live", of: relay)["link"].string)
                let recorder = try Program(
                    Program.share(), ["record", live, "-o", folder.file("kept.webm"), "--for", "4s"], environment: own)
                let snapshot = folder.file("snapshot.png")
                let viewer = try Program(
                    Program.share(), ["join", live, "--headless", "--snapshot", snapshot, "--for", "3s"],
                    environment: own)
                try await Browser.with(.chromium) { browser in
                    try await browser.watch(live)
                    try await browser.waitForState("playing", within: .seconds(20))
                    let seen = try await browser.greys()
                    #expect(isRight(seen), "\(codec) in Chromium: \(seen)")
                }
                #expect(await viewer.exitCode() == 0, "\(viewer.text.errors)")
                let shown = try await greys(of: snapshot, in: folder)
                #expect(isRight(shown), "\(codec) in share join: \(shown)")
                #expect(await recorder.exitCode() == 0, "\(recorder.text.errors)")
                // Of VP9 and AV1, ffprobe says what the stream says.
                if codec == "vp8" {
                    let probe = try Program(
                        "ffprobe",
                        [
                            "-v", "error", "-show_entries", "stream=color_range", "-of", "csv=p=0",
                            folder.file("kept.webm"),
                        ])
                    #expect(await probe.exitCode() == 0 && probe.text.output == "pc\n", "\(probe.text.output)")
                }
                // What is made of the recording has the contrast, too.
                let export = try Program(
                    Program.share(),
                    ["recordings", "export", folder.file("kept.webm"), "-o", folder.file("kept.mp4")], environment: own)
                #expect(await export.exitCode() == 0, "\(export.text.errors)")
                let exported = try await greys(of: folder.file("kept.mp4"), in: folder)
                #expect(isRight(exported), "\(codec) exported: \(exported)")
            }
        }
    }
}

extension Browser {
    /// The grey of the middle of both halves of the video, once it is light on the right, and as sharp as it becomes.
    fileprivate func greys() async throws -> [Int] {
        let values = try await evaluate(
            """
            new Promise((resolve) => {
              const canvas = document.createElement("canvas");
              [canvas.width, canvas.height] = [320, 240];
              const context = canvas.getContext("2d", { willReadFrequently: true });
              const video = document.querySelector("video");
              const start = performance.now();
              const look = () => {
                context.drawImage(video, 0, 0, 320, 240);
                const [dark, light] = [80, 240].map((x) => context.getImageData(x, 120, 1, 1).data[1]);
                const isRight = Math.abs(dark - 64) <= 3 && Math.abs(light - 200) <= 3;
                if (isRight || light > 150 && performance.now() - start > 8000) resolve([dark, light]);
                else setTimeout(look, 50);
              };
              look();
            })
            """, within: .seconds(20))
        return [values[0].number, values[1].number].compactMap { $0.map { Int($0) } }
    }
}
