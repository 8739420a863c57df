import MediaCore
import TestSupport
import Testing
import VPXCodec

@Suite struct HostileInputTests {
    /// Encodes a key frame followed by inter frames.
    static func stream(_ size: PixelSize = PixelSize(width: 96, height: 80), frames: Int = 6) throws -> [[UInt8]] {
        let canvas = I420Buffer(size)
        let pair = CodecPair()
        return try (0..<frames).map { index in
            TextPage.draw(on: canvas, rect: PixelRect(size), seed: UInt64(index))
            return try #require(try pair.step(canvas, BlockMap(size, filled: true), after: .seconds(1))).bytes
        }
    }

    func decode(_ decoder: VP8Decoder, _ bytes: [UInt8]) throws -> PixelSize? {
        try bytes.withUnsafeBytes { try decoder.decode($0)?.size }
    }

    static func keyframe(width: Int, height: Int, partition: Int, count: Int, startCode: [UInt8] = [0x9D, 0x01, 0x2A])
        -> [UInt8]
    {
        let tag = partition << 5 | 1 << 4
        var bytes = [UInt8(tag & 255), UInt8(tag >> 8 & 255), UInt8(tag >> 16 & 255)] + startCode
        bytes += [UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255), UInt8(height >> 8)]
        return bytes + [UInt8](repeating: 0, count: max(count - bytes.count, 0))
    }

    @Test(
        arguments: [
            [], [0], [0x10, 0], [0x10, 0, 0], [0x11, 0, 0], [0x11, 0, 0, 1],
            keyframe(width: 0, height: 16, partition: 20, count: 60),
            keyframe(width: 16, height: 0, partition: 20, count: 60),
            keyframe(width: 16, height: 16, partition: 0, count: 60),
            keyframe(width: 16, height: 16, partition: 51, count: 60),
            keyframe(width: 16, height: 16, partition: 0x7_FFFF, count: 60),
            keyframe(width: 16, height: 16, partition: 20, count: 60, startCode: [0x9D, 0x01, 0x2B]),
            // Frames that are too large by side, by area, or for their number of bytes.
            keyframe(width: 8_194, height: 16, partition: 9_000, count: 10_000),
            keyframe(width: 16_383, height: 16_383, partition: 90_000, count: 100_000),
            keyframe(width: 8_192, height: 8_192, partition: 20, count: 60),
            keyframe(width: 1_920, height: 1_080, partition: 20, count: 60),
        ] as [[UInt8]])
    func malformedHeadersAreErrors(bytes: [UInt8]) throws {
        let decoder = VP8Decoder()
        #expect(throws: CodecFailure.self) { try decode(decoder, bytes) }
        #expect(decoder.statistics.corrupt == 1)
        #expect(decoder.needsKeyframe)
    }

    @Test func interFrameBeforeAnyKeyframeIsAnError() throws {
        let stream = try Self.stream()
        let decoder = VP8Decoder()
        #expect(throws: CodecFailure.self) { try decode(decoder, stream[1]) }
        #expect(decoder.statistics.unusable == 1)
        #expect(try decode(decoder, stream[0]) != nil)
        #expect(try decode(decoder, stream[1]) != nil)
    }

    @Test func afterACorruptFrameOnlyAKeyframeHelps() throws {
        let stream = try Self.stream()
        let decoder = VP8Decoder()
        _ = try decode(decoder, stream[0])
        #expect(throws: CodecFailure.self) { try decode(decoder, Array(stream[1].prefix(4))) }
        #expect(decoder.needsKeyframe)
        #expect(throws: CodecFailure.self) { try decode(decoder, stream[2]) }
        #expect(try decode(decoder, stream[0]) != nil)
        #expect(!decoder.needsKeyframe)
        #expect(try decode(decoder, stream[1]) != nil)
    }

    /// Damages a frame: flipped bits, truncation, foreign bytes, a random header, or only noise.
    func damaged(_ frame: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var frame = frame
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                frame[Int.random(in: frame.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        case 1: frame.removeLast(Int.random(in: 0...frame.count, using: &random))
        case 2:
            let start = Int.random(in: frame.indices, using: &random)
            for index in start..<min(start + 40, frame.count) {
                frame[index] = UInt8.random(in: 0...255, using: &random)
            }
        case 3:
            // The header, which includes the first partition's length, is the most sensitive part.
            for index in 0..<min(12, frame.count) where Bool.random(using: &random) {
                frame[index] = UInt8.random(in: 0...255, using: &random)
            }
        default:
            frame = (0..<Int.random(in: 0..<300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if frame.count > 12, Bool.random(using: &random) {
                frame.replaceSubrange(3..<10, with: [0x9D, 0x01, 0x2A, 64, 0, 64, 0])
            }
        }
        return frame
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func damagedFramesNeverEndTheProcess(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let stream = try Self.stream()
        let decoder = VP8Decoder()
        for round in 0..<1_000 {
            let frame = stream[round % stream.count]
            let isDamaged = Int.random(in: 0..<3, using: &random) == 0
            _ = try? decode(decoder, isDamaged ? damaged(frame, &random) : frame)
        }
        #expect(decoder.statistics.corrupt > 50)
        #expect(decoder.statistics.frames > 50)
        #expect(try decode(decoder, stream[0]) == PixelSize(width: 96, height: 80))
    }

    @Test func damagedKeyframesOfChangingSizesNeverEndTheProcess() throws {
        var random = SeededGenerator(seed: 99)
        let decoder = VP8Decoder()
        let streams = try [(16, 16), (96, 80), (250, 34), (2, 2)].map {
            try Self.stream(PixelSize(width: $0.0, height: $0.1), frames: 2)
        }
        for _ in 0..<1_500 {
            guard let stream = streams.randomElement(using: &random), let frame = stream.randomElement(using: &random)
            else { continue }
            var bytes = frame
            if Bool.random(using: &random), bytes.count > 10 {
                bytes[6] = UInt8.random(in: 0...255, using: &random)
                bytes[8] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? decode(decoder, bytes)
        }
        #expect(decoder.statistics.resizes > 10)
    }
}
