import LinuxRuntime
import MediaCore
import MediaEngine
import Testing

@testable import Host

/// The frame that takes the place of the screen when its user blanks the broadcast.
@Suite(.timeLimit(.minutes(1)))
struct BlankFrameTests {
    private final class StillScreen: ScreenSource {
        let size = PixelSize(width: 64, height: 64)
        let summary = "a still screen"
        let limitations: [String] = []
        private let isWoken = Monitor(false)

        func wait(until deadline: MediaInstant?) -> ScreenEvent {
            _ = isWoken.wait(until: deadline ?? .distantFuture) { isWoken in
                defer { isWoken = false }
                return isWoken ? () : nil
            }
            return .woken
        }

        func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant { MonotonicClock.now }
        func damageEverything() {}
        func wake() { isWoken.change { $0 = true } }
        func close() {}
    }

    /// Makes frames of one byte.
    // SAFETY: the byte is written before the first frame.
    private final class ByteEncoder: VideoEncoder, @unchecked Sendable {
        private let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        var contentHint = ContentHint.text
        let unrefined: BlockMap? = nil
        let hasUncodedChanges = false

        init() { byte[0] = 1 }

        deinit { byte.deallocate() }

        func encode(
            _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
        ) -> EncodedFrame? {
            EncodedFrame(
                bytes: UnsafeRawBufferPointer(byte), isKeyframe: request.isKeyframeRequested, quantizer: 0)
        }

        func makeAnother() -> any VideoEncoder { ByteEncoder() }
    }

    /// Nothing else is encoded meanwhile: all viewers have a backlog.
    @Test func aBlankFrameThatFindsNoPlaceInTheQueueIsTriedAgain() async throws {
        let frames = FrameQueues()
        let ready = Monitor(0)
        let byte: [UInt8] = [0]
        while byte.withUnsafeBytes({ bytes in
            frames[.main].push(bytes, FrameInfo(of: bytes, isKeyframe: false, captured: MonotonicClock.now))
        }) {}
        let pipeline = VideoPipeline(
            source: StillScreen(), encoder: ByteEncoder(), limits: .init(framesPerSecond: 60),
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
