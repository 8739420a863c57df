import DAV1DCodec
import FFmpegCodec
import MediaCore
import TestSupport
import Testing
import VPXCodec
import VideoBitstream

/// Damaged and malicious streams in the decoders of VP9, H.264, H.265 and AV1.
@Suite struct HostileStreamTests {
    private func decode(_ decoder: any VideoDecoder, _ bytes: [UInt8]) throws -> PixelSize? {
        try bytes.withUnsafeBytes { try decoder.decode($0)?.size }
    }

    @Test(arguments: VideoDecoderTests.codecs)
    func afterACorruptFrameOnlyAKeyframeHelps(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(codec)
        let decoder = try VideoDecoderTests.decoder(codec)
        #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[1]) }
        #expect(try decode(decoder, stream.frames[0]) == stream.size)
        #expect(try decode(decoder, stream.frames[1]) == stream.size)
        #expect(throws: CodecFailure.self) { try decode(decoder, []) }
        #expect(throws: CodecFailure.self) { try decode(decoder, [0, 0, 0, 1]) }
        #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[2]) }
        #expect(try decode(decoder, stream.frames[10]) == stream.size)
        #expect(try decode(decoder, stream.frames[11]) == stream.size)
    }

    private func damaged(_ frame: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
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
            for index in 0..<min(40, frame.count) where Int.random(in: 0..<4, using: &random) == 0 {
                frame[index] = UInt8.random(in: 0...255, using: &random)
            }
        default:
            let noise = (0..<Int.random(in: 0..<300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            frame = Bool.random(using: &random) ? noise : frame + noise
        }
        return frame
    }

    @Test(arguments: VideoDecoderTests.codecs)
    func damagedFramesNeverEndTheProcess(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(codec)
        let decoder = try VideoDecoderTests.decoder(codec)
        var failures = 0
        for seed in 1...4 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            for round in 0..<600 {
                let frame = stream.frames[round % stream.frames.count]
                let isDamaged = Int.random(in: 0..<3, using: &random) == 0
                do {
                    _ = try decode(decoder, isDamaged ? damaged(frame, &random) : frame)
                } catch is CodecFailure {
                    failures += 1
                }
            }
        }
        #expect(failures > 50)
        #expect(try decode(decoder, stream.frames[0]) == stream.size)
    }

    /// Streams that announce more pixels than the limit are refused before a frame is allocated.
    @Test func picturesThatAreTooLargeAreRefused() async throws {
        // 4096 x 4098 pixels: 12 MB of noise are not needed, an empty picture is enough.
        for codec in VideoDecoderTests.codecs {
            let stream = try await EncodedStream(codec, width: 4_128, height: 4_128, count: 1)
            let decoder = try VideoDecoderTests.decoder(codec)
            let failure = #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[0]) }
            #expect(failure?.message.contains("too large") == true, "\(codec): \(failure?.message ?? "")")
        }
    }

    @Test func aFrameThatLacksASliceIsCorrupt() async throws {
        let stream = try await EncodedStream(.h264)
        let decoder = try VideoDecoderTests.decoder(.h264)
        #expect(try decode(decoder, stream.frames[0]) == stream.size)
        var units: [[UInt8]] = []
        stream.frames[1].withUnsafeBytes { frame in
            NALUnits.forEach(in: frame) { units.append([0, 0, 0, 1] + Array($0)) }
        }
        #expect(units.count == 5)
        #expect(throws: CodecFailure.self) { try decode(decoder, Array(units.dropLast().joined())) }
    }

    /// libvpx takes bytes after a frame for a further one.
    @Test func aVP9FrameBehindAnotherIsNotDecoded() async throws {
        let small = try await EncodedStream(.vp9, width: 64, height: 64)
        let large = try await EncodedStream(.vp9, width: 640, height: 360)
        let decoder = VP9Decoder()
        #expect(try decode(decoder, small.frames[0] + large.frames[0]) == small.size)
        #expect(try decode(decoder, small.frames[1]) == small.size)
    }

    /// A parameter set in front of any frame counts, not only in key frames.
    @Test(arguments: [.h264, .h265] as [VideoCodec])
    func aLargerParameterSetInTheMiddleIsRefused(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(codec)
        let large = try await EncodedStream(codec, width: 4_128, height: 4_128, count: 1)
        let decoder = try VideoDecoderTests.decoder(codec)
        #expect(try decode(decoder, stream.frames[0]) == stream.size)
        #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[1] + large.frames[0].prefix(200)) }
        #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[2]) }
    }

    @Test(arguments: [.h264, .h265] as [VideoCodec])
    func aFrameOfTooManyUnitsIsRefused(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(codec)
        let decoder = try VideoDecoderTests.decoder(codec)
        let filler: [UInt8] = codec == .h264 ? [0, 0, 1, 12, 0xFF] : [0, 0, 1, 76, 1, 0xFF]
        let many = [[UInt8]](repeating: filler, count: 2_000).flatMap { $0 }
        #expect(throws: CodecFailure.self) { try decode(decoder, stream.frames[0] + many) }
    }
}
