import Foundation
import MediaCore
import Testing

@testable import VPXCodec

@Suite struct VPXTokenBufferTests {
    /// libvpx zeroes 199 MB of tokens for this size, and touches 20 MB more when it opens.
    @Test func anOpenedEncoderDoesNotKeepZeros() throws {
        let size = PixelSize(width: 3_840, height: 2_160)
        let before = try residentMegabytes()
        let core = try VP8EncoderCore(size, threads: 1)
        #expect(try residentMegabytes() - before < 100)

        let canvas = I420Buffer(size)
        TextPage.draw(on: canvas, rect: PixelRect(size), seed: 1)
        let settings = VP8FrameSettings(quantizer: 20, isKeyframe: true, search: .wide)
        let instant = MediaInstant(nanoseconds: 1_000_000_000)
        let frame = try #require(try core.encode(canvas.frame, active: nil, at: instant, settings))
        let decoder = VP8Decoder()
        let decoded = try #require(try decoder.decode(frame.bytes))
        // The frame's memory belongs to the decoder.
        withExtendedLifetime(decoder) { #expect(lumaPSNR(decoded, canvas.frame) > 35) }
    }

    private func residentMegabytes() throws -> Int {
        let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(Int(words[1])) * Int(getpagesize()) / 1_048_576
    }
}
