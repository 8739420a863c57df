import BrowserControl
import LinuxRuntime
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

extension InteropTests {
    /// A still screen at 1 Mbit/s.
    @Suite struct StillScreenTests {
        /// Browsers request a key frame when no frame has arrived for 3 s.
        @Test func aStillScreenCostsABrowserNoKeyFrameAndHardlyABit() async {
            await withEachBrowser { try await watchAStillScreen(in: $0) }
        }

        private func watchAStillScreen(in kind: Browser.Kind) async throws {
            let configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(1_000), contentHint: nil)
            let host = try HostSession(
                configuration: configuration, identity: try .ephemeral(), source: DensePage(), encoder: VP8Encoder(),
                audio: [], decide: { _ in .accepted }, emit: { _ in })
            let link = try await host.start()
            do {
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    // The page is sharp when no frame has arrived for a second.
                    _ = try await browser.inbound("video", until: "entry.framesDecoded >= 2", within: .seconds(20))
                    try await Self.waitForRest(host)
                    let before = try #require(await host.statistics())
                    let first = try await browser.inbound("video", until: "true")
                    let sharp = try await browser.luma()
                    let start = ContinuousClock.now
                    var differences: [Double] = []
                    while ContinuousClock.now - start < .seconds(30) {
                        try await Task.sleep(for: .milliseconds(400))
                        let now = try await browser.luma()
                        #expect(now.count == sharp.count)
                        differences.append(zip(now, sharp).map { abs($0 - $1) }.max() ?? 255)
                    }
                    let seconds = Double((ContinuousClock.now - start).components.seconds)
                    let last = try await browser.inbound("video", until: "true")
                    let after = try #require(await host.statistics())
                    let kilobits = Double(after.sent.bytes - before.sent.bytes) * 8 / 1_000 / seconds
                    let count = { (name: String) in Int((last[name].number ?? 0) - (first[name].number ?? 0)) }
                    print(
                        kind, "kbit/s", kilobits, "frames", count("framesDecoded"), "keys", count("keyFramesDecoded"),
                        "pli", count("pliCount"), "differs", differences.max() ?? 0)
                    #expect(kilobits < 20)
                    #expect(after.sent.keyframeRequests == before.sent.keyframeRequests && count("pliCount") == 0)
                    #expect(after.video.keyframes == before.video.keyframes && count("keyFramesDecoded") == 0)
                    #expect(count("framesDecoded") >= 12)
                    #expect((differences.max() ?? 255) <= 1, "the text is not as sharp as it was")
                }
            } catch {
                Issue.record(error)
            }
            await host.stop(EndReason(.stopped, "done"))
        }

        /// Waits until no frame was made for a second.
        private static func waitForRest(_ host: HostSession) async throws {
            var frames = -1
            for _ in 0..<40 {
                try await Task.sleep(for: .seconds(1))
                let now = await host.statistics()?.video.frames ?? 0
                if now == frames { return }
                frames = now
            }
            Issue.record("the picture never rests")
        }
    }
}

/// A page of small glyphs from edge to edge.
private final class DensePage: ScreenSource {
    let size = PixelSize(width: 1_280, height: 720)
    let summary = "a page"
    let limitations: [String] = []
    private let bell = Monitor(false)
    private var isDrawn = false

    func wait(until deadline: MediaInstant?) -> ScreenEvent {
        if !isDrawn { return .damaged }
        _ = bell.wait(until: deadline ?? .distantFuture) { $0 ? () : nil }
        bell.with { $0 = false }
        return .woken
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        if !isDrawn {
            var state: UInt64 = 88_172_645_463_325_252
            for row in 0..<size.height {
                for column in 0..<size.width {
                    if row % 12 < 9, column % 8 < 6 {
                        state ^= state << 13
                        state ^= state >> 7
                        state ^= state << 17
                    }
                    let isInk = row % 12 < 9 && column % 8 < 6 && state & 3 == 0
                    canvas.y[row * canvas.strideY + column] = isInk ? 30 : 230
                }
            }
            for row in 0..<size.height / 2 {
                for column in 0..<size.width / 2 {
                    canvas.u[row * canvas.strideC + column] = 128
                    canvas.v[row * canvas.strideC + column] = 128
                }
            }
            isDrawn = true
            changed.fill()
        }
        return MonotonicClock.now
    }

    func damageEverything() { isDrawn = false }
    func wake() { bell.change { $0 = true } }
    func resume() { isDrawn = false }
    func close() {}
}

extension Browser {
    /// The brightness of some hundred points of the page's video, 0...255.
    fileprivate func luma() async throws -> [Double] {
        let answer = try await evaluate(
            """
            (() => {
                const video = document.getElementById("video");
                const canvas = document.createElement("canvas");
                canvas.width = video.videoWidth;
                canvas.height = video.videoHeight;
                const context = canvas.getContext("2d");
                context.drawImage(video, 0, 0);
                const spots = [];
                for (let y = 40; y < canvas.height; y += 80) {
                    const line = context.getImageData(0, y, canvas.width, 1).data;
                    for (let x = 8; x < canvas.width; x += 16) spots.push(line[4 * x + 1]);
                }
                return spots;
            })()
            """)
        return (answer.array ?? []).compactMap(\.number)
    }
}
