import LinuxRuntime
import MediaCore
import MediaEngine
import Testing

@testable import Host

/// The frame that takes the place of the screen when its user blanks the broadcast.
@Suite(.timeLimit(.minutes(1)))
struct BlankFrameTests {
    /// Nothing else is encoded meanwhile: all viewers have a backlog.
    @Test func aBlankFrameThatFindsNoPlaceInTheQueueIsTriedAgain() async throws {
        let frames = FrameQueues()
        let ready = Monitor(0)
        let byte: [UInt8] = [0]
        while byte.withUnsafeBytes({ bytes in
            frames[.main].push(bytes, FrameInfo(of: bytes, isKeyframe: false, captured: MonotonicClock.now))
        }) {}
        let pipeline = VideoPipeline(
            source: StillScreen(), encoder: PlainEncoder(), limits: .init(framesPerSecond: 60),
            bitrate: .kilobits(1_000),
            frames: frames, clock: { MonotonicClock.now })
        pipeline.start(framesReady: { ready.change { $0 += 1 } }, failed: { _ in })
        pipeline.change { controls in
            controls.main.isWanted = true
            controls.main.target.isBlocked = true
        }
        pipeline.set(.blank)
        while pipeline.statistics.skipped == 0 { try await Task.sleep(for: .milliseconds(1)) }
        // The network sends again.
        while frames[.main].pop({ _, _ in }) {}
        #expect(ready.wait(until: MonotonicClock.now + .seconds(20)) { $0 > 0 ? () : nil } != nil)
        let info = Monitor<FrameInfo?>(nil)
        frames[.main].pop { _, frame in info.with { $0 = frame } }
        #expect(info.with { $0?.isBlank == true && $0?.isKeyframe == true })
        await pipeline.stop()
    }
}
