import DAV1DCodec
import FFmpegCodec
import MediaCore
import TestSupport
import Testing
import VPXCodec

/// Streams of ffmpeg's encoders in share's decoders.
@Suite struct VideoDecoderTests {
    static let codecs: [VideoCodec] = [.h264, .vp9, .av1, .h265]

    static func decoder(_ codec: VideoCodec) throws -> any VideoDecoder {
        switch codec {
        case .vp8: VP8Decoder()
        case .vp9: VP9Decoder()
        case .h264, .h265: try H26xDecoder(codec)
        case .av1: try AV1Decoder()
        }
    }

    private func decode(_ decoder: any VideoDecoder, _ bytes: [UInt8]) throws -> [UInt8]? {
        try bytes.withUnsafeBytes { try decoder.decode($0)?.planes }
    }

    @Test(arguments: codecs) func eachFrameIsShownAtOnceAsItsEncoderMeantIt(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(codec)
        #expect(stream.frames.count == 20 && stream.pictures.count == 20)
        let decoder = try Self.decoder(codec)
        for (index, frame) in stream.frames.enumerated() {
            let shown = try #require(try decode(decoder, frame), "frame \(index)")
            #expect(shown == stream.pictures[index], "frame \(index)")
        }
    }

    /// Sizes that are odd, and frames of another kind than 8-bit 4:2:0.
    @Test(
        arguments: [
            (.h264, "yuv420p10le"), (.h264, "yuv444p"), (.vp9, "yuv444p"), (.vp9, "yuv422p10le"),
            (.av1, "yuv420p10le"), (.av1, "yuv444p"), (.h265, "yuv420p10le"), (.h265, "yuv422p"),
        ] as [(VideoCodec, String)])
    func otherPixelFormatsAreConverted(_ codec: VideoCodec, _ format: String) async throws {
        let stream = try await EncodedStream(codec, format: format)
        let decoder = try Self.decoder(codec)
        for (frame, expected) in zip(stream.frames, stream.pictures) {
            let shown = try #require(try decode(decoder, frame))
            #expect(shown.count == expected.count)
            // ffmpeg rounds and filters where this takes samples as they are.
            let luma = stream.size.width * stream.size.height
            let difference = zip(shown[..<luma], expected[..<luma]).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            #expect(difference <= 2 * luma)
        }
    }

    /// Streams say how their samples stand for colours; what is shown has the colours of BT.601 in limited range.
    @Test(arguments: codecs, [("smpte170m", "pc"), ("bt709", "tv"), ("bt709", "pc"), ("bt2020nc", "tv")])
    func coloursAreThoseOfTheSource(_ codec: VideoCodec, _ color: (matrix: String, range: String)) async throws {
        let name = color.matrix == "smpte170m" ? "bt601" : color.matrix
        let range = color.range == "pc" ? "full" : "limited"
        let stream = try await EncodedStream(
            codec, picture: "smptebars", width: 320, height: 180, count: 1,
            more: [
                "-vf", "scale=out_color_matrix=\(name):out_range=\(range),format=yuv420p", "-crf", "5", "-b:v", "0",
                "-colorspace", color.matrix, "-color_range", color.range,
            ])
        let plain = try await EncodedStream(
            codec, picture: "smptebars", width: 320, height: 180, count: 1, more: ["-crf", "5", "-b:v", "0"])
        let shown = try #require(try decode(try Self.decoder(codec), stream.frames[0]))
        let expected = try #require(try decode(try Self.decoder(codec), plain.frames[0]))
        let difference = zip(shown, expected).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        #expect(Double(difference) / Double(expected.count) < 1.5)
    }

    @Test(arguments: codecs) func theSizeMayChangeWithAKeyFrame(_ codec: VideoCodec) async throws {
        let small = try await EncodedStream(codec, width: 64, height: 64)
        let large = try await EncodedStream(codec, width: 640, height: 360)
        let decoder = try Self.decoder(codec)
        for stream in [small, large, small] {
            for (index, frame) in stream.frames.prefix(3).enumerated() {
                #expect(try decode(decoder, frame) == stream.pictures[index])
            }
        }
    }
}
