import MediaCore
import RTPWire
import Testing
import VPXCodec
import VideoBitstream

/// Skip frames, which repeat the last frame and are made without an encoder, between frames of an encoder.
@Suite struct SkipFrameTests {
    @Test(arguments: [(16, 16), (2, 34), (18, 2), (336, 200), (1_920, 1_080)])
    func aSkipFrameShowsTheLastFrameAndChangesNoState(width: Int, height: Int) throws {
        let size = PixelSize(width: width, height: height)
        let canvas = I420Buffer(size)
        let pair = CodecPair()
        // This decoder gets every frame of the encoder, with skip frames in between.
        let other = VP8Decoder()
        var skip: [UInt8] = []
        for round in 0..<(width > 1_000 ? 4 : 24) {
            let rect = round % 8 == 0 ? PixelRect(size) : PixelRect(x: 0, y: 0, width: width / 2, height: height / 2)
            TextPage.draw(on: canvas, rect: rect, seed: UInt64(round))
            var changed = BlockMap(size)
            changed.insert(rect)
            let step = try #require(try pair.step(canvas, changed, isKeyframe: round == 12))
            let header = try step.bytes.withUnsafeBytes { try VP8FrameHeader($0) }
            if let size = header.size { skip = VP8SkipFrame.make(size, version: header.version) }
            let expected = blocks(of: step.decoded)
            let shown = try step.bytes.withUnsafeBytes { try #require(try other.decode($0)) }
            #expect(blocks(of: shown) == expected)
            for _ in 0...round % 3 {
                let again = try skip.withUnsafeBytes { try #require(try other.decode($0)) }
                #expect(again.size == size && blocks(of: again) == expected)
            }
        }
    }

    @Test func aSkipFrameOfALargeScreenFitsIntoOnePacket() throws {
        let frame = VP8SkipFrame.make(PixelSize(width: 3_840, height: 2_160), version: 0)
        #expect(frame.count < 1_000)
        #expect(VP8SkipFrame.make(PixelSize(width: 1_920, height: 1_080), version: 0).count < 260)
        let header = try frame.withUnsafeBytes { try VP8FrameHeader($0) }
        #expect(!header.isKeyframe && header.isShown && header.version == 0)
        #expect(header.fits(frameLength: frame.count))
    }
}
