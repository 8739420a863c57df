import BrowserControl
import Foundation
import TestSupport
import Testing

extension InteropTests {
    /// `share join` watches at a relay what tools publish in other codecs than VP8.
    @Suite struct NativeViewerTests {
        static let token = "a-token-for-foreign-clients"

        /// A still picture of the codec in two groups of ten frames, in a file as `publisher.go` reads it.
        /// - Parameter isNoisy: frames need many packets.
        func encode(_ codec: String, isNoisy: Bool = false, in folder: TemporaryFolder) async throws -> String {
            let encoders = [
                "h264": (["libx264", "-bf", "0", "-preset", "veryfast", "-bsf:v", "h264_metadata=aud=insert"], "h264"),
                "h265": (
                    [
                        "libx265", "-bf", "0", "-preset", "ultrafast", "-x265-params", "log-level=error", "-bsf:v",
                        "hevc_metadata=aud=insert",
                    ], "hevc"
                ),
                "vp9": (["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"], "ivf"),
                "av1": (["libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"], "ivf"),
            ]
            let (encoder, format) = try #require(encoders[codec])
            let file = folder.file("stream." + format)
            try await ffmpeg(
                ["-f", "lavfi", "-i", "smptebars=size=640x360:rate=10\(isNoisy ? ",noise=alls=12:allf=t" : "")"]
                    + ["-frames:v", "20", "-g", "10", "-pix_fmt", "yuv420p", "-b:v", isNoisy ? "6M" : "1M", "-c:v"]
                    + encoder + ["-f", format, file])
            return file
        }

        @discardableResult
        func ffmpeg(_ arguments: [String]) async throws -> String {
            let program = try Program("ffmpeg", ["-nostdin", "-y", "-hide_banner"] + arguments)
            // Its output has come whole then.
            guard program.exitCode(seconds: 60) == 0 else {
                throw Program.Failure("ffmpeg \(arguments): \(program.text.errors)")
            }
            return program.text.errors
        }

        /// How alike a snapshot and the published picture are, in decibels.
        func likeness(_ snapshot: String) async throws -> Double? {
            let report = try await ffmpeg([
                "-i", snapshot, "-f", "lavfi", "-i", "smptebars=size=640x360", "-frames:v", "1", "-lavfi",
                "[0]format=gbrp[a];[1]format=gbrp[b];[a][b]psnr", "-f", "null", "-",
            ])
            return report.split(separator: " ").first { $0.hasPrefix("average:") }.flatMap {
                Double($0.dropFirst("average:".count))
            }
        }

        func event(_ name: String, of relay: Program) async throws -> JSON {
            try JSON(
                parsing: try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"\(name)\"") })
        }

        /// H.264 comes as OBS sends it. The second viewer comes late.
        @Test(arguments: ["h264", "vp9", "av1", "h265"])
        func whatAToolPublishesIsShown(_ codec: String) async throws {
            let folder = try TemporaryFolder()
            let file = try await encode(codec, in: folder)
            try (Self.token + "\n").write(toFile: folder.file("token"), atomically: true, encoding: .utf8)
            let own = ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path]
            let relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--publish-token", folder.file("token"), "--json"],
                environment: own)
            defer { relay.kill() }
            let link = try #require(try await event("link", of: relay)["link"].string)
            let url = (link.split(separator: "#").first.map(String.init) ?? "") + "/whip"
            let publisher = try Program(
                ForeignPeer.pionProgram("publisher"),
                ["--url", url, "--token", Self.token, "--codec", codec, "--file", file, "--seconds", "60"])
            defer { publisher.kill() }
            let live = try #require(try await event("live", of: relay)["link"].string)
            for number in 1...2 {
                let snapshot = folder.file("snapshot-\(number).png")
                let viewer = try Program(
                    Program.share(), ["join", live, "--headless", "--snapshot", snapshot, "--for", "3s", "--json"],
                    environment: own)
                #expect(viewer.exitCode(seconds: 60) == 0, "\(viewer.text.errors)")
                #expect(viewer.text.errors.contains("640 x 360") || viewer.text.output.contains("640"))
                let likeness = try #require(try await likeness(snapshot))
                #expect(likeness > 25, "\(codec): \(likeness) dB")
            }
        }
    }
}
