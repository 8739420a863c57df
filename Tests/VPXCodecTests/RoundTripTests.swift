import MediaCore
import Testing
import VPXCodec

@Suite struct RoundTripTests {
    static let size = PixelSize(width: 336, height: 200)

    func page(_ size: PixelSize = RoundTripTests.size, seed: UInt64 = 1) -> I420Buffer {
        let canvas = I420Buffer(size)
        TextPage.draw(on: canvas, rect: PixelRect(size), seed: seed)
        return canvas
    }

    @Test func firstFrameIsAKeyframeLikeItsSource() throws {
        let canvas = page()
        let step = try #require(try CodecPair().step(canvas, BlockMap(Self.size, filled: true)))
        #expect(step.frame.isKeyframe)
        #expect(step.decoded.size == Self.size)
        #expect(lumaPSNR(step.decoded, canvas.frame) > 40)
    }

    @Test func firstFrameIsWholeWhateverTheMapSays() throws {
        let canvas = page()
        let step = try #require(try CodecPair().step(canvas, BlockMap(Self.size)))
        #expect(lumaPSNR(step.decoded, canvas.frame) > 40)
    }

    @Test(arguments: [ContentHint.text, .motion])
    func onlyChangedBlocksChange(contentHint: ContentHint) throws {
        let canvas = page()
        let pair = CodecPair()
        pair.encoder.contentHint = contentHint
        var before = blocks(of: try #require(try pair.step(canvas, BlockMap(Self.size, filled: true))).decoded)
        for seed in 2..<12 as Range<UInt64> {
            let rect = PixelRect(x: 30, y: 40, width: 90, height: 50)
            TextPage.draw(on: canvas, rect: rect, seed: seed)
            var changed = BlockMap(Self.size)
            changed.insert(rect)
            let step = try #require(try pair.step(canvas, changed))
            #expect(!step.frame.isKeyframe)
            let after = blocks(of: step.decoded)
            for index in after.indices where changed.blocks[index] == 0 { #expect(after[index] == before[index]) }
            #expect(lumaPSNR(step.decoded, canvas.frame) > 38)
            before = after
        }
    }

    @Test func partialBlocksAtTheEdgeAreCoded() throws {
        // The height, 200, is not a multiple of 16.
        let canvas = page()
        let pair = CodecPair()
        _ = try pair.step(canvas, BlockMap(Self.size, filled: true))
        let rect = PixelRect(x: 300, y: 190, width: 36, height: 10)
        for row in rect.y..<rect.maxY {
            for column in rect.x..<rect.maxX {
                canvas.y[row * canvas.strideY + column] = UInt8(40 + 5 * (row - rect.y))
            }
        }
        var changed = BlockMap(Self.size)
        changed.insert(rect)
        let step = try #require(try pair.step(canvas, changed))
        #expect(lumaError(step.decoded, canvas.frame, in: rect) < 20 * rect.width * rect.height)
    }

    @Test(arguments: [(2, 2), (16, 16), (18, 2), (2, 34), (640, 22)])
    func anyEvenSizeWorks(width: Int, height: Int) throws {
        let size = PixelSize(width: width, height: height)
        let canvas = page(size)
        let pair = CodecPair()
        #expect(try pair.step(canvas, BlockMap(size, filled: true))?.decoded.size == size)
        #expect(try pair.step(canvas, BlockMap(size, filled: true))?.decoded.size == size)
    }

    @Test func keyframesComeOnRequestOnly() throws {
        let canvas = page()
        let pair = CodecPair()
        let none = BlockMap(Self.size)
        let kinds = try (0..<300).map { index in
            try #require(try pair.step(canvas, none, isKeyframe: index == 77)).frame.isKeyframe
        }
        #expect(kinds.indices.filter { kinds[$0] } == [0, 77])
    }

    @Test func newSizeStartsWithAKeyframe() throws {
        let pair = CodecPair()
        _ = try pair.step(page(), BlockMap(Self.size, filled: true))
        for size in [PixelSize(width: 640, height: 400), PixelSize(width: 100, height: 60), Self.size] {
            let canvas = page(size)
            let step = try #require(try pair.step(canvas, BlockMap(size)))
            #expect(step.frame.isKeyframe)
            #expect(step.decoded.size == size)
            #expect(lumaPSNR(step.decoded, canvas.frame) > 35)
            #expect(try #require(try pair.step(canvas, BlockMap(size))).frame.isKeyframe == false)
        }
        #expect(pair.decoder.statistics.resizes == 3)
    }

    @Test func preparedEncoderStartsWithAKeyframeOfTheRightSize() throws {
        let canvas = page()
        let pair = CodecPair()
        try pair.encoder.prepare(PixelSize(width: 64, height: 64))
        try pair.encoder.prepare(Self.size)
        #expect(pair.encoder.unrefined == nil)
        #expect(try #require(try pair.step(canvas, BlockMap(Self.size))).frame.isKeyframe)
        #expect(throws: CodecFailure.self) { try pair.encoder.prepare(PixelSize(width: 20_000, height: 2)) }
    }

    @Test func standingClockDoesNoHarm() throws {
        let canvas = page()
        let pair = CodecPair()
        _ = try pair.step(canvas, BlockMap(Self.size, filled: true))
        for time in [0, 0, -50, 1] {
            #expect(try pair.step(canvas, BlockMap(Self.size), after: .milliseconds(time)) != nil)
        }
    }

    @Test func extremeRequestsAreClamped() throws {
        let canvas = page()
        for bitrate in [Int.min, -1, 0, 1, Int.max] {
            for budget in [Int.min, -1, 0, 1, Int.max] {
                let pair = CodecPair()
                pair.bitrate = Bitrate(bitsPerSecond: bitrate)
                pair.byteBudget = budget
                #expect(try pair.step(canvas, BlockMap(Self.size, filled: true)) != nil)
                _ = try pair.step(canvas, BlockMap(Self.size, filled: true))
                _ = try pair.step(canvas, BlockMap(Self.size), isRefinement: true)
            }
        }
    }
}
