import LinuxRuntime
import MediaCore
import Testing

@testable import Host
@testable import PeerConnection
@testable import Viewer

/// Frames that arrive faster than the decode thread decodes them.
@Suite(.timeLimit(.minutes(1))) struct DecodePipelineTests {
    /// Decodes so many frames, and blocks at the next; shows nothing.
    private final class Gate: VideoDecoder, Sendable {
        private struct State {
            var begun = 0
            var limit = 0
        }
        private let state = Monitor(State())

        func decode(_ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame? {
            let number = state.change { state in
                state.begun += 1
                return state.begun
            }
            state.wait { $0.limit >= number ? () : nil }
            return nil
        }

        func open(for frames: Int) { state.change { $0.limit = frames } }
        func waitForBeginning(of number: Int) { state.wait { $0.begun >= number ? () : nil } }
        var begun: Int { state.with { $0.begun } }
    }

    /// Decodes each frame to a grey one.
    private final class GreyDecoder: VideoDecoder {
        private let canvas = I420Buffer(PixelSize(width: 16, height: 16))
        func decode(_ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame? {
            canvas.frame
        }
    }

    private final class TimeSink: VideoSink {
        let times = Monitor<[MediaInstant?]>([])
        func show(_ frame: I420Frame, at time: MediaInstant?) { times.change { $0.append(time) } }
    }

    private final class NoSink: VideoSink {
        func show(_ frame: I420Frame, at time: MediaInstant?) {}
    }

    private final class Stage {
        let gate = Gate()
        let time = Monitor(MediaInstant(nanoseconds: 1_000_000_000))
        let requests = Monitor(0)
        let pipeline: DecodePipeline

        init() throws {
            let (time, requests, gate) = (time, requests, gate)
            pipeline = try DecodePipeline(
                decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in gate }, codec: .vp8, sink: NoSink(),
                clock: { time.with { $0 } },
                requestKeyframe: { requests.change { $0 += 1 } }, onFirstFrame: { _ in })
        }

        deinit {
            gate.open(for: .max)
            pipeline.close()
        }

        func push(_ count: Int, isKeyframe: Bool = false) {
            for _ in 0..<count {
                [1, 2, 3].withUnsafeBytes { bytes in
                    pipeline.push(
                        EncodedVideoFrame(bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: isKeyframe),
                        showAt: nil)
                }
            }
        }

        /// The first frame takes 600 ms; `waiting` frames wait behind it, the first of which is then being decoded.
        func fallBehind(waiting: Int) {
            push(1, isKeyframe: true)
            push(waiting)
            time.change { $0 = $0 + .milliseconds(600) }
            gate.open(for: 1)
            gate.waitForBeginning(of: 2)
        }
    }

    /// What a relay has sent since its last key frame arrives at once.
    @Test func whatARelaySendsANewViewerAtOnceIsDecodedWithoutAKeyFrame() throws {
        let stage = try Stage()
        stage.push(1, isKeyframe: true)
        stage.push(239)
        stage.gate.open(for: .max)
        stage.gate.waitForBeginning(of: 240)
        #expect(stage.requests.with { $0 } == 0)
    }

    /// One second of video at 60 frames/s arrives at once, with the one packet that was missing.
    @Test func framesThatWaitedForARepairAreDecodedWithoutAKeyFrame() throws {
        let stage = try Stage()
        stage.push(1, isKeyframe: true)
        stage.push(60)
        stage.gate.open(for: .max)
        stage.gate.waitForBeginning(of: 61)
        #expect(stage.requests.with { $0 } == 0)
    }

    @Test func aFullQueueAsksForAKeyFrameAndTakesNothingElse() throws {
        let stage = try Stage()
        stage.push(1, isKeyframe: true)
        stage.gate.waitForBeginning(of: 1)
        // The frame that is being decoded takes a buffer as well.
        stage.push(256)
        #expect(stage.requests.with { $0 } == 1)
        stage.gate.open(for: 256)
        stage.gate.waitForBeginning(of: 256)
        stage.push(1)
        stage.push(1, isKeyframe: true)
        stage.gate.open(for: .max)
        stage.gate.waitForBeginning(of: 257)
        #expect(stage.pipeline.takeStatistics().overflows == 1)
    }

    /// One frame has waited while the machine was suspended; the next ones have not.
    @Test func aDecoderThatStoodStillOnceIsNotTakenForSlow() throws {
        let stage = try Stage()
        stage.fallBehind(waiting: 1)
        stage.push(2)
        try #require(stage.requests.with { $0 } == 0)
        stage.gate.open(for: .max)
        stage.gate.waitForBeginning(of: 4)
    }

    /// Lip-sync delays a frame on the presenting side.
    @Test func decodingGoesOnWhileAFrameWaitsForItsTime() throws {
        let now = MediaInstant(nanoseconds: 1_000_000_000)
        let sink = TimeSink()
        let pipeline = try DecodePipeline(
            decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in GreyDecoder() }, codec: .vp8, sink: sink,
            clock: { now }, requestKeyframe: {}, onFirstFrame: { _ in })
        let later = now + .seconds(3_600)
        for (isKeyframe, time) in [(true, later), (false, nil), (false, nil)] {
            [1, 2, 3].withUnsafeBytes { bytes in
                pipeline.push(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: isKeyframe, captured: now),
                    showAt: time)
            }
        }
        sink.times.wait { $0 == [later, nil, nil] ? () : nil }
        // The last frame may not be counted yet.
        #expect(pipeline.takeStatistics().latencies.prefix(2) == [3_600_000, 0])
        pipeline.close()
    }

    @Test func aDecoderThatIsFarBehindGetsAKeyFrame() throws {
        let stage = try Stage()
        // The second frame has waited for 600 ms, and the third waits behind it.
        stage.fallBehind(waiting: 2)
        stage.push(1)
        #expect(stage.requests.with { $0 } == 1)
        stage.push(1, isKeyframe: true)
        stage.gate.open(for: .max)
        stage.gate.waitForBeginning(of: 4)
        #expect(stage.requests.with { $0 } == 1)
    }
}
