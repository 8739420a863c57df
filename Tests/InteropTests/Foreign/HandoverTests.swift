import Admission
import BrowserControl
import Foundation
import LinuxRuntime
import MediaCore
import Publishing
import Sessions
import TestSource
import TestSupport
import Testing
import Transport
import VPXCodec

extension InteropTests {
    /// A host sends its viewers to the relay while browsers watch (`share host --route auto`).
    @Suite struct HandoverTests {
        /// Records when the page shows frames.
        private static let recordFrames = """
            (() => {
                const video = document.getElementById("video");
                window.frameTimes = [];
                const note = now => { window.frameTimes.push(now); video.requestVideoFrameCallback(note); };
                video.requestVideoFrameCallback(note);
            })()
            """

        @Test(arguments: Browser.Kind.allCases)
        func aBrowserMovesToTheRelayWithoutAGap(kind: Browser.Kind) async throws {
            let folder = try TemporaryFolder()
            let relay = try Program(
                Program.share(), ["relay", "--listen", "127.0.0.1:0", "--accept", "any", "--json"],
                environment: ["XDG_DATA_HOME": folder.path, "TMPDIR": folder.path])
            defer { relay.kill() }
            let line = try await relay.line(.standard, within: .seconds(20)) { $0.contains("\"event\":\"link\"") }
            let place = try #require(try JSON(parsing: line)["link"].string)
            let identity = try Identity.ephemeral()
            let paired = try await ServicePairing(
                link: try ServiceLink(parsing: place),
                application: ApplicationInfo(id: "com.example.budget", name: "Budget"), identity: identity
            ).run { _ in [:] }
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
                maximumBitrate: .kilobits(4_000), contentHint: nil)
            configuration.meeting = paired
            configuration.directViewers = 1
            let (asked, left) = (Monitor(0), Monitor(0))
            let host = try HostSession(
                configuration: configuration, identity: identity, source: TestVideoSource(framesPerSecond: 30),
                encoder: VP8Encoder(), audio: [],
                decide: { _ in
                    asked.with { $0 += 1 }
                    return .accepted
                },
                emit: { event in if case .viewerLeft = event { left.change { $0 += 1 } } })
            do {
                let link = try await host.start()
                try await Browser.with(kind) { browser in
                    try await browser.watch(link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    _ = try await browser.look(until: "frames > 30")
                    _ = try await browser.evaluate(Self.recordFrames)
                    let other = try Program(
                        Program.share(), ["join", "--headless", "--json"],
                        environment: [
                            "XDG_DATA_HOME": folder.path, "TMPDIR": folder.path, "SHARE_LINK": link.text,
                        ])
                    defer { other.kill() }
                    // Both have left the host, which sends to the relay alone.
                    _ = try await relay.line(.standard, within: .seconds(20)) {
                        $0.contains("\"event\":\"viewers\"") && $0.contains("\"viewers\":2")
                    }
                    let moved = try await browser.look(until: "frames > 60")
                    #expect(moved["isThere"] == true && moved["wasMarked"] == false, "\(moved.text)")
                    let haveLeft = left.wait(until: MonotonicClock.now + .seconds(10)) { $0 >= 2 ? true : nil }
                    #expect(haveLeft == true)
                    #expect(await host.viewers().map(\.description.kind) == ["service"])
                    let gap = try await browser.evaluate(
                        "Math.max(...frameTimes.slice(1).map((time, i) => time - frameTimes[i]))")
                    #expect((gap.number ?? .infinity) < 400, "\(gap.text)")
                    #expect(asked.with { $0 } == 2)
                    // The end comes over the relay.
                    await host.stop(EndReason(.stopped, "done"))
                    try await browser.waitForState("ended", within: .seconds(10))
                }
            } catch {
                await host.stop(EndReason(.stopped, "failed"))
                throw error
            }
        }
    }
}
