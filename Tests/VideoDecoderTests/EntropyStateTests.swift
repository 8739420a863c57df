import MediaCore
import TestSupport
import Testing
import VPXCodec
import VideoBitstream

/// The probabilities of decoders are followed by the frames' headers.
@Suite struct EntropyStateTests {
    private static func frames(refreshing: Bool) throws -> [[UInt8]] {
        var random = SeededGenerator(seed: 12)
        let encoder = VP8Encoder()
        encoder.usesUpdateFrames = false
        encoder.usesCopyFrames = false
        var request = VideoEncodeRequest(bitrate: .kilobits(20_000))
        request.allowsRecoveryFrames = !refreshing
        let size = CopyFrameBitstreamTests.size
        return try (0..<4).map { step in
            let canvas = CopyFrameBitstreamTests.texture(&random)
            let frame = try encoder.encode(
                canvas, changed: BlockMap(size, filled: true),
                at: MediaInstant(nanoseconds: 5_000_000_000 + Int64(step)),
                request)
            return try withExtendedLifetime(encoder) { Array(try #require(frame).bytes) }
        }
    }

    /// A key frame begins anew, and inter frames change what stays only if they say so.
    @Test func whatFramesKeepIsFollowed() throws {
        for refreshing in [true, false] {
            let frames = try Self.frames(refreshing: refreshing)
            var states = [VP8EntropyState()]
            for frame in frames {
                var state = try #require(states.last)
                let isRead = frame.withUnsafeBytes { state.note($0) }
                #expect(isRead)
                states.append(state)
            }
            // The key frame changes them; of the others those that refresh do.
            #expect(states[0] != states[1])
            #expect((states[1] == states[2]) != refreshing)
            var again = states[4]
            let isRead = frames[0].withUnsafeBytes { again.note($0) }
            #expect(isRead && again == states[1])
        }
    }

    /// Whatever is no frame is refused, and nothing is read beyond it.
    @Test func brokenFramesAreRefused() throws {
        let frame = try Self.frames(refreshing: true)[1]
        var state = VP8EntropyState()
        for length in 0..<min(200, frame.count) {
            let isRead = frame.prefix(length).withUnsafeBytes { state.note($0) }
            #expect(!isRead, "\(length)")
        }
        var random = SeededGenerator(seed: 2)
        for _ in 0..<500 {
            let bytes = (0..<random.below(80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            _ = bytes.withUnsafeBytes { state.note($0) }
        }
    }
}
