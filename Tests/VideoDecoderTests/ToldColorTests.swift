import MediaCore
import Testing
import VPXCodec

/// Colours that are told beside the stream.
@Suite struct ToldColorTests {
    /// A grey gradient, blue above and red below.
    private static func canvas(_ size: PixelSize, isFullRange: Bool) -> I420Buffer {
        let canvas = I420Buffer(size)
        for row in 0..<size.height {
            for column in 0..<size.width {
                let value = column * 255 / (size.width - 1)
                canvas.y[row * canvas.strideY + column] = UInt8(isFullRange ? value : 16 + value * 219 / 255)
            }
        }
        for row in 0..<size.height / 2 {
            for column in 0..<size.width / 2 {
                let (u, v) = row < size.height / 4 ? (60, 0) : (0, 60)
                let scale = isFullRange ? 255 : 224
                canvas.u[row * canvas.strideC + column] = UInt8(128 + u * scale / 255)
                canvas.v[row * canvas.strideC + column] = UInt8(128 + v * scale / 255)
            }
        }
        return canvas
    }

    /// A key frame of VP8 at the best quality.
    private static func vp8(_ canvas: I420Buffer) throws -> [UInt8] {
        let encoder = VP8Encoder()
        let frame = try encoder.encode(
            canvas, changed: BlockMap(canvas.size, filled: true), at: MediaInstant(nanoseconds: 1_000_000_000),
            VideoEncodeRequest(bitrate: .kilobits(50_000), isKeyframeRequested: true, byteBudget: 400_000))
        return Array(try #require(frame).bytes)
    }

    private func decode(_ decoder: any VideoDecoder, _ bytes: [UInt8], _ space: ColorSpace?) throws -> [UInt8] {
        try bytes.withUnsafeBytes { try #require(try decoder.decode($0, colorSpace: space)?.planes) }
    }

    private func difference(_ a: [UInt8], _ b: [UInt8]) -> Double {
        Double(zip(a, b).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(max(b.count, 1))
    }

    @Test func vp8OfFullRangeIsShownWithItsContrast() throws {
        let size = PixelSize(width: 320, height: 180)
        let full = try Self.vp8(Self.canvas(size, isFullRange: true))
        let expected = try decode(VP8Decoder(), Self.vp8(Self.canvas(size, isFullRange: false)), nil)
        let decoder = VP8Decoder()
        let wrong = try decode(decoder, full, nil)
        #expect(difference(wrong, expected) > 4)
        for space in [ColorSpace(range: .full), ColorSpace(primaries: 1, transfer: 13, matrix: 6, range: .full)] {
            #expect(try difference(decode(decoder, full, space), expected) < 1.5)
        }
        // What says nothing, or what the stream is taken for anyway.
        for space in [ColorSpace(), ColorSpace(range: .derived), ColorSpace(matrix: 5, range: .limited)] {
            #expect(try decode(decoder, full, space) == wrong)
        }
        // BT.709 has other weights.
        #expect(try difference(decode(decoder, full, ColorSpace(matrix: 1, range: .full)), expected) > 1)
    }

    /// A sender that changes its mind, and odd sizes.
    @Test(
        arguments: [PixelSize(width: 33, height: 17), PixelSize(width: 16, height: 16), PixelSize(width: 2, height: 2)])
    func eachFrameHasItsOwn(_ size: PixelSize) throws {
        let canvas = I420Buffer(PixelSize(width: (size.width + 1) & ~1, height: (size.height + 1) & ~1))
        for row in 0..<canvas.size.height {
            (canvas.y + row * canvas.strideY).update(repeating: 200, count: canvas.size.width)
        }
        for row in 0..<canvas.size.height / 2 {
            (canvas.u + row * canvas.strideC).update(repeating: 128, count: canvas.size.width / 2)
            (canvas.v + row * canvas.strideC).update(repeating: 128, count: canvas.size.width / 2)
        }
        var frame = try Self.vp8(canvas)
        // The size in the header of a key frame: RFC 6386 section 9.1.
        frame[6] = UInt8(size.width)
        frame[8] = UInt8(size.height)
        let decoder = VP8Decoder()
        for _ in 0..<2 {
            let plain = try decode(decoder, frame, nil)
            #expect(abs(Int(plain[0]) - 200) <= 2)
            let full = try decode(decoder, frame, ColorSpace(range: .full))
            #expect(abs(Int(full[0]) - 188) <= 2)
        }
    }

    /// What is told beside the stream is valid before what the stream says.
    @Test(arguments: VideoDecoderTests.codecs) func otherCodecsHeedIt(_ codec: VideoCodec) async throws {
        let stream = try await EncodedStream(
            codec, picture: "smptebars", width: 320, height: 180, count: 1,
            more: [
                "-vf", "scale=out_color_matrix=bt709:out_range=full,format=yuv420p", "-crf", "5", "-b:v", "0",
                "-colorspace", "bt709", "-color_range", "pc",
            ])
        let decoder = try VideoDecoderTests.decoder(codec)
        let said = try decode(decoder, stream.frames[0], nil)
        #expect(try decode(decoder, stream.frames[0], ColorSpace(matrix: 1, range: .full)) == said)
        #expect(try decode(decoder, stream.frames[0], ColorSpace()) == said)
        // The samples as they are in the stream.
        let told = try decode(decoder, stream.frames[0], ColorSpace(matrix: 6, range: .limited))
        #expect(difference(told, said) > 2)
    }
}
