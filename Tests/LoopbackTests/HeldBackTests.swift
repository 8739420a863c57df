import LinuxRuntime
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec

@testable import Host
@testable import PeerConnection
@testable import Viewer

/// The host's statistics of changes that waited on its side.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct HeldBackTests {
    @Test func aChangeThatWaitsOnTheHostIsAFreezeOfTheHosts() async throws {
        let screen = HesitantScreen()
        let host = try silentHost(screen)
        let link = try await host.start()
        let seen = RecordedOutput()
        let viewer = try watcher(link, seen)
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 5 })
        let before = try #require(await host.statistics())
        #expect(before.layers == [.all])
        screen.hesitate(for: .milliseconds(400))
        // Frames that were made before may still be in flight.
        var after = before
        for _ in 0..<100 where after.sent.freezes == before.sent.freezes {
            let count = seen.state.counters.count
            #expect(await seen.wait { $0.counters.count > count })
            after = try #require(await host.statistics())
        }
        #expect(after.sent.freezes > before.sent.freezes)
        #expect(after.sent.freezeTime - before.sent.freezeTime >= .milliseconds(390))
        viewer.leave()
        #expect(await watching.value.code == .stopped)
        // The freezes stay counted after the viewer has left.
        #expect(try #require(await host.statistics()).sent.freezes >= after.sent.freezes)
        await host.stop(EndReason(.stopped, "done"))
    }
}

/// A test video source in which one read takes long.
// SAFETY: `video` is used as it requires; the rest is in a Monitor.
private final class HesitantScreen: ScreenSource, @unchecked Sendable {
    private let video = TestVideoSource()
    private let pause = Monitor(MediaDuration.zero)

    func hesitate(for time: MediaDuration) { pause.change { $0 = time } }

    var size: PixelSize { video.size }
    var summary: String { video.summary }
    var limitations: [String] { video.limitations }
    func wait(until deadline: MediaInstant?) -> ScreenEvent { video.wait(until: deadline) }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        let time = pause.with { pause in
            defer { pause = .zero }
            return pause
        }
        if time > .zero { _ = pause.wait(until: MonotonicClock.now + time) { _ in nil as Void? } }
        return video.read(into: canvas, changed: &changed)
    }

    func damageEverything() { video.damageEverything() }
    func wake() { video.wake() }
    func resume() { video.resume() }
    func close() { video.close() }
}
