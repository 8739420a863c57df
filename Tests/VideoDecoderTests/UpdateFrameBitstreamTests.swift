import MediaCore
import TestSupport
import Testing
import VPXCodec
import VideoBitstream

/// Update frames of any content, in decoders that are not ours.
@Suite struct UpdateFrameBitstreamTests {
    private typealias Stream = CopyFrameBitstreamTests
    private static let size = Stream.size

    @Test(arguments: [0, 7, 30, 80, 127])
    func libvpxAndFFmpegShowWhatIsPredicted(quantizer: Int) async throws {
        var random = SeededGenerator(seed: UInt64(quantizer) + 5)
        let key = try Stream.keyframe(&random)
        let decoder = VP8Decoder()
        let first = try #require(try key.withUnsafeBytes { try decoder.decode($0) })
        let picture = Stream.Picture(Self.size)
        picture.set(first)
        var entropy = VP8EntropyState()
        let isRead = key.withUnsafeBytes { entropy.note($0) }
        #expect(isRead)
        let canvas = Stream.texture(&random)
        var frame = VP8UpdateFrame(Self.size)
        var moved = VP8CopyFrame(Self.size)
        let scratch = Stream.Picture(Self.size)
        var movedFrames = 0
        var stream = [key]
        var shown = [picture.bytes]
        var worst = 0
        for step in 0..<200 {
            let blocks = Self.draw(on: canvas, &random)
            // Every other frame moves something first.
            var moves = step % 2 == 1
            if moves {
                Stream.choose(&moved, [Stream.Kind.one, .few, .near][step / 2 % 3], &random)
                _ = moved.restrict()
                moves = moved.areVectorsNear
            }
            if moves {
                movedFrames += 1
                moved.apply(to: picture.planes, scratch: scratch.planes)
            }
            let bytes = frame.encode(
                canvas.frame, blocks, after: moves ? moved : nil, onto: picture.planes,
                VP8UpdateFrame.Settings(quantizer: quantizer, version: 2, entropy: entropy))
            let decoded = try #require(try bytes.withUnsafeBytes { try decoder.decode($0) })
            try #require(decoded.planes == picture.bytes)
            stream.append(bytes)
            shown.append(picture.bytes)
            if quantizer == 0 { worst = max(worst, Self.difference(picture.bytes, canvas, blocks)) }
        }
        #expect(worst <= 6)
        #expect(movedFrames > 60)
        try await Stream.expectFFmpeg(stream, shown)
    }

    /// The last row and column of blocks are not whole.
    @Test(arguments: [
        PixelSize(width: 330, height: 198), PixelSize(width: 18, height: 34), PixelSize(width: 2, height: 2),
    ])
    func sizesThatAreNoMultipleOf16(size: PixelSize) throws {
        var random = SeededGenerator(seed: 9)
        let (encoder, decoder) = (VP8Encoder(), VP8Decoder())
        let canvas = I420Buffer(size)
        let request = VideoEncodeRequest(bitrate: .kilobits(50_000))
        let key = try #require(
            try encoder.encode(
                canvas, changed: BlockMap(size, filled: true), at: MediaInstant(nanoseconds: 1), request))
        _ = try #require(try decoder.decode(key.bytes))
        var entropy = VP8EntropyState()
        let isRead = entropy.note(key.bytes)
        #expect(isRead)
        let whole = PixelSize(width: (size.width + 15) & ~15, height: (size.height + 15) & ~15)
        let picture = Stream.Picture(whole)
        // The key frame of a flat canvas is exact, also in the padding.
        picture.fill(canvas)
        var frame = VP8UpdateFrame(size)
        for _ in 0..<30 {
            let blocks = Self.draw(on: canvas, &random)
            let bytes = frame.encode(
                canvas.frame, blocks, onto: picture.planes,
                VP8UpdateFrame.Settings(quantizer: 7, version: 2, entropy: entropy))
            let shown = try #require(try bytes.withUnsafeBytes { try decoder.decode($0) })
            let planes = picture.planes
            for row in 0..<size.height {
                for column in 0..<size.width {
                    try #require(shown.y[row * shown.strideY + column] == planes.y[row * planes.strideY + column])
                    let (line, place) = (row / 2, column / 2)
                    try #require(shown.u[line * shown.strideC + place] == planes.u[line * planes.strideC + place])
                    try #require(shown.v[line * shown.strideC + place] == planes.v[line * planes.strideC + place])
                }
            }
        }
    }

    /// Draws noise, lines of the extremes, and flat colours, of any size.
    private static func draw(on canvas: I420Buffer, _ random: inout SeededGenerator) -> [UInt8] {
        let size = canvas.size
        var map = BlockMap(size)
        for _ in 0...random.below(4) {
            let (x, y) = (random.below(size.width) & ~1, random.below(size.height) & ~1)
            let rect = PixelRect(
                x: x, y: y, width: min(2 + random.below(100) & ~1, size.width - x),
                height: min(2 + random.below(60) & ~1, size.height - y))
            let (kind, level) = (random.below(4), UInt8(truncatingIfNeeded: random.next()))
            for row in rect.y..<rect.y + rect.height {
                for column in rect.x..<rect.x + rect.width {
                    let noise = UInt8(truncatingIfNeeded: random.next())
                    canvas.y[row * canvas.strideY + column] =
                        switch kind {
                        case 0: level
                        case 1: noise
                        case 2: (row / 3 + column / 2) & 1 == 0 ? 0 : 255
                        default: level / 2 &+ noise & 7
                        }
                    let place = row / 2 * canvas.strideC + column / 2
                    canvas.u[place] = kind == 1 ? noise : level
                    canvas.v[place] = kind == 2 ? 255 &- level : level
                }
            }
            map.insert(rect)
        }
        return map.blocks
    }

    /// The largest of a pixel of luma, in the blocks that were coded.
    private static func difference(_ shown: [UInt8], _ canvas: I420Buffer, _ blocks: [UInt8]) -> Int {
        var worst = 0
        for row in 0..<size.height {
            for column in 0..<size.width where blocks[row / 16 * (size.width / 16) + column / 16] != 0 {
                let here = Int(canvas.y[row * canvas.strideY + column])
                worst = max(worst, abs(here - Int(shown[row * size.width + column])))
            }
        }
        return worst
    }
}
