import MediaCore
import Testing
import VPXCodec

@Suite struct RoundTripTests {
    @Test func whatWasEncodedComesBackAlike() throws {
        let size = PixelSize(width: 320, height: 200)
        let canvas = I420Canvas(size)
        TextPage.draw(on: canvas, rect: PixelRect(size), seed: 1)
        let encoder = VP8Encoder()
        let decoder = VP8Decoder()
        let frame = try #require(
            try encoder.encode(
                canvas, changed: BlockMap(size, filled: true), at: MediaInstant(nanoseconds: 0),
                VideoEncodeRequest(bitrate: .kilobits(6_000))))
        #expect(frame.isKeyframe)
        let picture = try #require(try decoder.decode(frame.bytes))
        #expect(picture.size == size)
        #expect(lumaPSNR(picture, canvas.picture) > 30)
    }
}
