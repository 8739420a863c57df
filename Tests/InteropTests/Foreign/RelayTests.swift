import BrowserControl
import Foundation
import TestSupport
import Testing

extension InteropTests {
    /// Browsers watch at a real `share relay` what another implementation of WebRTC publishes there.
    @Suite struct RelayTests {
        private func event(_ name: String, of relay: Program) async throws -> JSON {
            try JSON(
                parsing: try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"\(name)\"") })
        }

        @Test func browsersWatchWhatAWHIPToolPublishes() async throws {
            let folder = try TemporaryFolder()
            let token = "a-token-for-foreign-clients"
            try (token + "\n").write(toFile: folder.file("token"), atomically: true, encoding: .utf8)
            let relay = try Program(
                Program.share(),
                ["relay", "--listen", "127.0.0.1:0", "--publish-token", folder.file("token"), "--json"],
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            defer { relay.kill() }
            let link = try #require(try await event("link", of: relay)["link"].string)
            let url = (link.split(separator: "#").first.map(String.init) ?? "") + "/whip"
            let program = try ForeignPeer.aiortc.program("publisher.py")
            let publisher = try Program(program[0], [program[1], "--url", url, "--token", token, "--seconds", "40"])
            let live = try #require(try await event("live", of: relay)["link"].string)
            for kind in Browser.Kind.allCases {
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(live)
                    try await browser.waitForState("playing", within: .seconds(20))
                    let video = try await browser.inbound("video", until: "entry.framesDecoded >= 60")
                    #expect(video["frameWidth"] == 640 && video["frameHeight"] == 480, "\(video.text)")
                    #expect(video["keyFramesDecoded"].number ?? 100 <= 5, "\(video.text)")
                    _ = try await browser.inbound("audio", until: "entry.packetsReceived > 40")
                }
            }
            publisher.interrupt()
            _ = try await event("closed", of: relay)
        }
    }
}
