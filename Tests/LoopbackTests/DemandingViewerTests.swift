import LinuxRuntime
import MediaCore
import OpusCodec
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A viewer that keeps requesting key frames, beside one that does not.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct DemandingViewerTests {
    @Test func aViewerThatAsksForKeyFramesAllTheTimeGetsFewerAndFewer() async throws {
        let host = try silentHost(TestVideoSource(framesPerSecond: 30))
        let link = try await host.start()
        let seen = RecordedOutput()
        let content = try watcher(link, seen)
        let demanding = ViewerSession(
            link: link, identity: try .ephemeral(), name: "demanding",
            sink: PlaybackSink(
                decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in HopelessDecoder() },
                videoSink: RecordedOutput(),
                audioDecoder: { () throws(CodecFailure) in try OpusFrameDecoder() }, makeSpeaker: { nil }),
            emit: { _ in })
        let tasks = [content, demanding].map { viewer in Task { await viewer.run() } }
        #expect(await seen.wait { $0.counters.count >= 5 })
        var before = try #require(await host.statistics())
        while before.sent.keyframeRequests < 3 {
            let count = seen.state.counters.count
            #expect(await seen.wait { $0.counters.count > count })
            before = try #require(await host.statistics())
        }
        let start = Self.seconds()
        while Self.seconds() - start < 8 {
            let count = seen.state.counters.count
            #expect(await seen.wait { $0.counters.count > count })
        }
        let after = try #require(await host.statistics())
        // The viewer requested at least each second. It got key frames after 1, 2 and 4 s at the earliest, and at most
        // one for an earlier request.
        #expect(after.sent.keyframeRequests - before.sent.keyframeRequests >= 7)
        #expect(after.video.keyframes - before.video.keyframes <= 5)
        for viewer in [content, demanding] { viewer.leave() }
        for task in tasks { #expect(await task.value.code == .stopped) }
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aViewerThatJoinsAgainAndAgainCostsFewKeyFrames() async throws {
        let host = try silentHost(TestVideoSource(framesPerSecond: 30))
        let link = try await host.start()
        let seen = RecordedOutput()
        let content = try watcher(link, seen)
        let watching = Task { await content.run() }
        #expect(await seen.wait { $0.counters.count >= 5 })
        let before = try #require(await host.statistics())
        let identity = try Identity.ephemeral()
        // One session each second, up to the ICE agents of its allowance.
        for _ in 0..<11 {
            let count = seen.state.counters.count
            let connected = Monitor(false)
            let again = try watcher(link, RecordedOutput(), identity: identity) { event in
                if case .connected = event { connected.change { $0 = true } }
            }
            let task = Task { await again.run() }
            #expect(await waiting(connected) { $0 ? true : nil } == true)
            #expect(await seen.wait { $0.counters.count > count + 30 })
            again.leave()
            #expect(await task.value.code == .stopped)
        }
        let after = try #require(await host.statistics())
        // One at once, then after at least 1, 1, 2, 4 and 8 s.
        #expect(after.video.keyframes - before.video.keyframes <= 6)
        content.leave()
        #expect(await watching.value.code == .stopped)
        await host.stop(EndReason(.stopped, "done"))
    }

    private static func seconds() -> Double {
        (MonotonicClock.now - MediaInstant(nanoseconds: 0)).inSeconds
    }
}

private final class HopelessDecoder: VideoDecoder {
    func decode(_ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame? {
        throw CodecFailure(code: 1, message: "nothing is good enough")
    }
}
