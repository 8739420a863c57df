import MediaCore
import TestSupport
import Testing
import VPXCodec

/// Random screen activity in a few hundred frames, after which the viewer's frame must equal the host's.
@Suite struct ScreenLifeTests {
    static let size = PixelSize(width: 352, height: 232)

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func everyBlockEndsUpSharp(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let canvas = I420Buffer(Self.size)
        let pair = CodecPair()
        var owed = BlockMap(Self.size, filled: true)
        var shown: I420Frame?
        for _ in 0..<250 {
            change(canvas, &owed, &random)
            pair.bitrate = .kilobits(Int.random(in: 100...6_000, using: &random))
            pair.byteBudget = Bool.random(using: &random) ? nil : Int.random(in: 300...40_000, using: &random)
            pair.encoder.contentHint = Bool.random(using: &random) ? .text : .motion
            let isKeyframe = Int.random(in: 0..<40, using: &random) == 0
            let pause = MediaDuration.milliseconds(Int.random(in: 5...250, using: &random))
            guard
                let step = try pair.step(canvas, owed, isKeyframe: isKeyframe, isRefinement: owed.isEmpty, after: pause)
            else { continue }
            owed.clear()
            shown = step.decoded
        }
        pair.bitrate = .kilobits(20_000)
        pair.byteBudget = nil
        for _ in 0..<200 where !owed.isEmpty || pair.encoder.unrefined != nil {
            guard let step = try pair.step(canvas, owed, isRefinement: owed.isEmpty) else { continue }
            owed.clear()
            shown = step.decoded
        }
        let decoded = try #require(shown)
        #expect(pair.encoder.unrefined == nil)
        for top in stride(from: 0, to: Self.size.height, by: 16) {
            for left in stride(from: 0, to: Self.size.width, by: 16) {
                let rect = PixelRect(x: left, y: top, width: 16, height: 16).clipped(to: Self.size)
                // 40 dB in every block.
                let limit = rect.width * rect.height * 13 / 2
                #expect(lumaError(decoded, canvas.frame, in: rect) < limit, "block at \(left), \(top), seed \(seed)")
            }
        }
    }

    /// Draws one random change: text, a filled window, a scroll, or nothing.
    private func change(_ canvas: I420Buffer, _ owed: inout BlockMap, _ random: inout SeededGenerator) {
        let x = Int.random(in: 0..<Self.size.width, using: &random)
        let y = Int.random(in: 0..<Self.size.height, using: &random)
        let rect = PixelRect(
            x: x & ~1, y: y & ~1, width: Int.random(in: 2...200, using: &random),
            height: Int.random(in: 2...120, using: &random)
        ).clipped(to: Self.size)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: TextPage.draw(on: canvas, rect: rect, seed: random.next())
        case 1:
            let tone = UInt8.random(in: 16...235, using: &random)
            for row in rect.y..<rect.maxY {
                (canvas.y + row * canvas.strideY + rect.x).update(repeating: tone, count: rect.width)
            }
        case 2:
            guard rect.height > 20 else { return }
            for row in rect.y..<(rect.maxY - 13) {
                (canvas.y + row * canvas.strideY + rect.x)
                    .update(from: canvas.y + (row + 13) * canvas.strideY + rect.x, count: rect.width)
            }
        default: return
        }
        owed.insert(rect)
    }
}
