import EventLoop
import LinuxRuntime
import MediaCore
import MediaEngine
import Testing

@testable import Viewer

@Suite(.timeLimit(.minutes(1))) struct SinkHandoverTests {
    private let sink = RecordingSink()
    private let loop = EventLoop(name: "net-0")

    /// Carries out `body` with the inputs of two sessions, of which the sink has the first.
    private func with(_ body: @escaping @Sendable (SinkInput, SinkInput) throws -> Void) async throws {
        let sink = sink
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            loop.perform { [loop] in
                done.resume(
                    with: Result {
                        let handover = SinkHandover(sink)
                        let inputs = (handover.makeInput(loop), handover.makeInput(loop))
                        for input in [inputs.0, inputs.1] {
                            try input.start(.init(video: .vp8, audio: []), requestKeyframe: { _ in })
                        }
                        try body(inputs.0, inputs.1)
                        inputs.1.close {}
                        inputs.0.close {}
                    })
            }
        }
    }

    private static func send(_ timestamp: UInt32, isKeyframe: Bool = false, to input: SinkInput) {
        withUnsafeBytes(of: timestamp) { bytes in
            input.receive(
                EncodedVideoFrame(
                    bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: isKeyframe, rtpTimestamp: timestamp))
        }
    }

    private var times: [UInt32] { sink.state.with { $0.frames.map(\.rtpTimestamp) } }

    /// A picture goes on until the other session has caught up with it.
    @Test func theNextSessionTakesOverWithItsFirstLiveFrame() async throws {
        try await with { former, next in
            Self.send(1_000, isKeyframe: true, to: former)
            Self.send(5_000, isKeyframe: true, to: next)
            Self.send(5_090, to: next)
            Self.send(2_000, to: former)
            Self.send(8_000, to: next)
            Self.send(3_000, to: former)
            Self.send(9_000, to: next)
        }
        #expect(times == [1_000, 2_000, 5_000, 5_090, 8_000, 9_000])
    }

    /// A viewer that was sent elsewhere before it has seen anything.
    @Test func theNextSessionTakesOverAtOnceIfThereIsNoPictureYet() async throws {
        try await with { _, next in
            Self.send(4_910, to: next)
            Self.send(5_000, isKeyframe: true, to: next)
            Self.send(5_090, to: next)
        }
        #expect(times == [5_000, 5_090])
    }
}
