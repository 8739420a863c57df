import MediaCore
import Testing
import VPXCodec

@Suite struct RefinementTests {
    static let size = PixelSize(width: 640, height: 368)

    /// Encodes the first frame of a page at a low bitrate, so that it is soft.
    func softPair(_ canvas: I420Buffer) throws -> (CodecPair, firstPSNR: Double, firstBytes: Int) {
        let pair = CodecPair()
        pair.bitrate = .kilobits(1_000)
        pair.byteBudget = 20_000
        let first = try #require(try pair.step(canvas, BlockMap(Self.size, filled: true)))
        return (pair, lumaPSNR(first.decoded, canvas.frame), first.bytes.count)
    }

    func page() -> I420Buffer {
        let canvas = I420Buffer(Self.size)
        TextPage.draw(on: canvas, rect: PixelRect(Self.size), seed: 7)
        return canvas
    }

    @Test func stillTextBecomesAsSharpAsItsSourceAndThenNothingIsSent() throws {
        let canvas = page()
        let (pair, first, _) = try softPair(canvas)
        #expect(first < 40)
        var last = first
        var steps = 0
        for _ in 0..<300 where pair.encoder.unrefined != nil {
            let soft = try #require(pair.encoder.unrefined).count
            guard let step = try pair.step(canvas, BlockMap(Self.size), isRefinement: true) else { continue }
            steps += 1
            let sharpness = lumaPSNR(step.decoded, canvas.frame)
            #expect(sharpness > last)
            #expect((pair.encoder.unrefined?.count ?? 0) < soft)
            last = sharpness
        }
        #expect(last > 46)
        #expect(steps > 2)
        #expect(pair.encoder.unrefined == nil)
        for _ in 0..<10 { #expect(try pair.step(canvas, BlockMap(Self.size), isRefinement: true) == nil) }
    }

    @Test func refinementKeepsToTheBitrate() throws {
        let canvas = page()
        let (pair, _, firstBytes) = try softPair(canvas)
        let start = pair.now
        var bytes = firstBytes
        while pair.encoder.unrefined != nil, pair.now - start < .seconds(20) {
            bytes += try pair.step(canvas, BlockMap(Self.size), isRefinement: true)?.bytes.count ?? 0
        }
        #expect(pair.encoder.unrefined == nil)
        // The bitrate, and the bytes that may be sent ahead of it.
        let elapsed = (pair.now - start).inSeconds
        #expect(Double(bytes) < 125_000 * elapsed + 60_000)
    }

    @Test func onlySoftBlocksAreTouched() throws {
        let canvas = page()
        let pair = CodecPair()
        let first = try #require(try pair.step(canvas, BlockMap(Self.size, filled: true)))
        #expect(first.frame.quantizer <= 6)
        #expect(pair.encoder.unrefined == nil)
        // Half of the page changes, with a small byte budget.
        pair.bitrate = .kilobits(1_000)
        pair.byteBudget = 4_000
        let rect = PixelRect(x: 0, y: 0, width: 640, height: 160)
        TextPage.draw(on: canvas, rect: rect, seed: 8)
        var changed = BlockMap(Self.size)
        changed.insert(rect)
        let soft = try #require(try pair.step(canvas, changed))
        #expect(soft.frame.quantizer > 20)
        #expect(pair.encoder.unrefined == changed)
        let before = blocks(of: soft.decoded)
        pair.bitrate = .kilobits(8_000)
        pair.byteBudget = nil
        var after = before
        for _ in 0..<100 where pair.encoder.unrefined != nil {
            guard let step = try pair.step(canvas, BlockMap(Self.size), isRefinement: true) else { continue }
            after = blocks(of: step.decoded)
        }
        #expect(pair.encoder.unrefined == nil)
        for index in after.indices where changed.blocks[index] == 0 { #expect(after[index] == before[index]) }
    }

    @Test func softBackgroundIsSharpenedWhileSomethingElseMoves() throws {
        let canvas = page()
        let (pair, first, _) = try softPair(canvas)
        pair.bitrate = .kilobits(6_000)
        pair.byteBudget = nil
        let rect = PixelRect(x: 32, y: 32, width: 96, height: 16)
        var changed = BlockMap(Self.size)
        changed.insert(rect)
        var last = first
        for seed in 100..<250 as Range<UInt64> {
            TextPage.draw(on: canvas, rect: rect, seed: seed)
            if let step = try pair.step(canvas, changed) { last = lumaPSNR(step.decoded, canvas.frame) }
        }
        #expect(last > 44)
        #expect(pair.encoder.unrefined == nil)
    }

    @Test func droppedFramesComeLaterWithAllTheirBlocks() throws {
        let canvas = page()
        let pair = CodecPair()
        pair.bitrate = .kilobits(500)
        _ = try pair.step(canvas, BlockMap(Self.size, filled: true))
        var owed = BlockMap(Self.size)
        var dropped = 0
        for seed in 10..<70 as Range<UInt64> {
            // A band of new text moves over the page: far more than the bitrate allows.
            let rect = PixelRect(x: 0, y: Int(seed % 4) * 80, width: 640, height: 80)
            TextPage.draw(on: canvas, rect: rect, seed: seed)
            owed.insert(rect)
            if try pair.step(canvas, owed) == nil { dropped += 1 } else { owed.clear() }
        }
        #expect(dropped > 10)
        var decoded: I420Frame?
        for _ in 0..<100 {
            if !owed.isEmpty {
                guard let step = try pair.step(canvas, owed) else { continue }
                owed.clear()
                decoded = step.decoded
            } else if pair.encoder.unrefined != nil {
                decoded = try pair.step(canvas, BlockMap(Self.size), isRefinement: true)?.decoded ?? decoded
            }
        }
        #expect(owed.isEmpty)
        #expect(lumaPSNR(try #require(decoded), canvas.frame) > 28)
    }

    @Test func firstFrameFollowsItsBudget() throws {
        let canvas = page()
        func bytes(_ budget: Int) throws -> Int {
            let pair = CodecPair()
            pair.byteBudget = budget
            return try #require(try pair.step(canvas, BlockMap(Self.size, filled: true))).bytes.count
        }
        for budget in [45_000, 60_000, 80_000] {
            let spent = try bytes(budget)
            #expect(spent < budget * 13 / 10)
            #expect(spent > budget * 6 / 10)
        }
        // A page takes a minimum number of bytes, so only the order is checked for small budgets.
        #expect(try bytes(1_000) < bytes(60_000))
        #expect(try bytes(60_000) < bytes(300_000))
    }
}
