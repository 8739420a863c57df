import BrowserControl
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec

@testable import Admission
@testable import Publishing
@testable import Receiving
@testable import Sessions
@testable import Transport

extension InteropTests {
    /// Browsers that get two temporal layers, while a slower viewer gets only the base.
    @Suite struct LayeredTests {
        @Test(arguments: Browser.Kind.allCases)
        func aBrowserShowsBothLayersBesideASlowerViewer(kind: Browser.Kind) async throws {
            var configuration = HostSession.Configuration(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil)
            configuration.viewerLimit = { .kilobits($0.name == "slow" ? 120 : 320) }
            let host = try HostSession(
                configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 60),
                encoder: VP8Encoder(),
                audio: [], decide: { _ in .accepted }, emit: { _ in })
            let link = try await host.start()
            let slow = ViewerSession(
                link: link, identity: try .ephemeral(), name: "slow",
                sink: PlaybackSink(
                    decoder: { () throws(CodecFailure) in VP8Decoder() }, videoSink: Nothing(),
                    audioDecoder: { () throws(CodecFailure) in throw CodecFailure(code: 0, message: "no sound") },
                    makeSpeaker: { Nothing() }), emit: { _ in })
            let watching = Task { await slow.run() }
            do {
                try await Browser.with(kind) { browser in
                    try await browser.recordPeers()
                    try await browser.watch(link.text)
                    try await browser.waitForState("playing", within: .seconds(20))
                    var shown = 0
                    for _ in 0..<60 where await (host.statistics()?.video.upperLayerFrames ?? 0) < 40 {
                        shown += 10
                        _ = try await browser.inbound("video", until: "entry.framesDecoded >= \(shown)")
                    }
                    let statistics = try #require(await host.statistics())
                    #expect(statistics.video.upperLayerFrames >= 40)
                    #expect(statistics.baseViewers >= 1)
                    // The browser decodes about as many frames as are made, and requests no key frames. A busy machine
                    // may not let it keep up all the time.
                    var (video, later, made) = (JSON.null, statistics, Int.max)
                    for _ in 0..<3 where made >= 120 {
                        let start = try await browser.inbound("video", until: "entry.framesDecoded >= 1")
                        let before = try #require(await host.statistics()).video.frames
                        let goal = Int(start["framesDecoded"].number ?? 0) + 60
                        video = try await browser.inbound("video", until: "entry.framesDecoded >= \(goal)")
                        later = try #require(await host.statistics())
                        made = later.video.frames - before
                    }
                    #expect(made < 120)
                    #expect(later.video.upperLayerFrames > statistics.video.upperLayerFrames)
                    #expect((video["keyFramesDecoded"].number ?? 100) <= 3, "\(video.text)")
                    let first = try #require(try await browser.pattern().frame)
                    var moves = false
                    for _ in 0..<10 where !moves {
                        moves = try await browser.pattern().frame.map { $0 > first } ?? false
                    }
                    #expect(moves)
                }
            } catch {
                Issue.record(error)
            }
            slow.leave()
            _ = await watching.value
            await host.stop(EndReason(.stopped, "done"))
        }

        private final class Nothing: VideoSink, AudioSink {
            func show(_ frame: I420Frame, at time: MediaInstant?) {}
            func play(_ samples: UnsafeBufferPointer<Int16>) {}
            var latency: MediaDuration { .zero }
            func close() {}
        }
    }
}
