import LinuxRuntime
import MediaCore
import OpusCodec
import Testing

@testable import Host
@testable import PeerConnection

@Suite struct AudioPipelineTests {
    /// Delivers audio on request.
    private final class Tape: AudioSource {
        let summary = "a tape"
        private let handler = Monitor<(@Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void)?>(nil)

        func start(
            handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
            ended: @escaping @Sendable (SourceFailure) -> Void
        ) throws(SourceFailure) {
            self.handler.with { $0 = handler }
        }

        func stop() {}

        let holds = Monitor<[Bool]>([])

        func setHeld(_ isHeld: Bool) { holds.change { $0.append(isHeld) } }

        /// Delivers a second of noise that begins at `start`.
        func play(from start: MediaInstant) {
            let body = handler.with { $0 }
            var state: UInt32 = 1
            for index in 0..<100 {
                let samples = (0..<960).map { _ in
                    state = state &* 1_664_525 &+ 1_013_904_223
                    return Int16(truncatingIfNeeded: state >> 18)
                }
                samples.withUnsafeBufferPointer { body?($0, start + .milliseconds(10) * Int64(index)) }
            }
        }
    }

    /// The slowest viewer's limit applies, but takes at most half of the others' bitrate.
    @Test(
        arguments: [
            (nil, 1), (40...40, 0.25), (160...160, 1), (600...600, 1), (8...40, 0.125), (8...600, 0.5),
            (100...600, 0.625),
        ] as [(ClosedRange<Int>?, Double)])
    func aSlowViewerTakesAtMostHalfOfTheAudioBitrateFromOthers(limits: ClosedRange<Int>?, fraction: Double) {
        let range = limits.map { Bitrate.kilobits($0.lowerBound)...Bitrate.kilobits($0.upperBound) }
        #expect(AudioPipeline.bitrateFraction(of: .kilobits(160), within: range) == fraction)
    }

    @Test func audioTakesLessOfASmallEstimateButAtLeastSixteenKilobits() throws {
        let tape = Tape()
        let queue = FrameQueue<AudioPacketInfo>(capacity: 64, bytes: 2_000)
        let pipeline = AudioPipeline(
            track: 0, kind: .applicationAudio, source: tape, encoder: try OpusFrameEncoder(.systemAudio), packets: queue
        )
        try pipeline.start(packetsReady: {}, ended: { _ in })
        pipeline.setWanted(true)
        #expect(pipeline.normalBitrate == .kilobits(128))
        var start = MediaInstant(nanoseconds: 1_000_000_000)
        let kilobits = [1.0, 0.25, 0, 5].map { (fraction: Double) in
            pipeline.setBitrateFraction(fraction)
            // The first second still contains the change.
            var bytes = 0
            for _ in 0..<2 {
                bytes = 0
                tape.play(from: start)
                start = start + .seconds(1)
                while queue.pop({ packet, _ in bytes += packet.count }) {}
            }
            return bytes * 8 / 1_000
        }
        print("sound", kilobits)
        #expect((100...160).contains(kilobits[0]))
        #expect((25...40).contains(kilobits[1]))
        #expect((10...20).contains(kilobits[2]))
        #expect(kilobits[3] >= 100)
        pipeline.stop()
    }

    @Test func theSourceIsNotOpenWhileItIsHeld() throws {
        let tape = Tape()
        let pipeline = AudioPipeline(
            track: 0, kind: .microphoneAudio, source: tape, encoder: try OpusFrameEncoder(.systemAudio),
            packets: FrameQueue<AudioPacketInfo>(capacity: 4, bytes: 2_000))
        pipeline.setHeld(true)
        pipeline.setHeld(false)
        #expect(tape.holds.with { $0 } == [true, false])
    }
}
