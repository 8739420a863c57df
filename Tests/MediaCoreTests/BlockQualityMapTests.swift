import MediaCore
import Testing

@Suite struct BlockQualityMapTests {
    static let size = PixelSize(width: 160, height: 64)
    static let blocks = 40
    static let start = MediaInstant(nanoseconds: 1_000_000_000)
    static let later = start + .seconds(1)

    func map(_ indices: some Sequence<Int>) -> BlockMap {
        var map = BlockMap(Self.size)
        for i in indices { map.blocks[i] = 1 }
        return map
    }

    @Test func everythingIsSoftAtFirst() {
        let blockQuality = BlockQualityMap(Self.size)
        #expect(blockQuality.unrefinedCount == Self.blocks)
        #expect(blockQuality.unrefined == BlockMap(Self.size, filled: true))
    }

    @Test(arguments: [(7, 0), (8, 0), (9, 40), (63, 40)])
    func keyframeSettlesAllBlocks(quantizer: Int, soft: Int) {
        var blockQuality = BlockQualityMap(Self.size, sharpQuantizer: 8)
        blockQuality.noteKeyframe(quantizer: quantizer)
        #expect(blockQuality.unrefinedCount == soft)
        #expect(blockQuality.unrefined.count == soft)
    }

    @Test func countFollowsBlocksInBothDirections() {
        var blockQuality = BlockQualityMap(Self.size)
        blockQuality.noteKeyframe(quantizer: 4)
        blockQuality.noteEncoded(map(3..<9), quantizer: 30)
        blockQuality.noteEncoded(map(3..<9), quantizer: 35)
        #expect(blockQuality.unrefinedCount == 6)
        blockQuality.noteEncoded(map(5..<20), quantizer: 4)
        #expect(blockQuality.unrefined == map(3..<5))
        #expect(blockQuality.unrefinedCount == 2)
    }

    @Test func softestBlocksComeFirst() {
        var blockQuality = BlockQualityMap(Self.size)
        blockQuality.noteKeyframe(quantizer: 20)
        blockQuality.noteEncoded(map(10..<14), quantizer: 40)
        blockQuality.noteEncoded(map(30..<32), quantizer: 50)
        var batch = BlockMap(Self.size)
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 40 * 7, at: Self.later) == 7)
        #expect(batch == map([30, 31, 10, 11, 12, 13, 0]))
    }

    @Test(arguments: [0, 1, 5, 39, 40, 41, 1_000])
    func batchKeepsToItsBudget(count: Int) {
        var blockQuality = BlockQualityMap(Self.size)
        blockQuality.noteKeyframe(quantizer: 20)
        var batch = BlockMap(Self.size)
        let added = blockQuality.addBatch(to: &batch, byteBudget: 40 * count, at: Self.later)
        #expect(added == min(count, Self.blocks))
        #expect(batch.count == added)
    }

    @Test func batchFollowsWhatBlocksCost() {
        var blockQuality = BlockQualityMap(Self.size)
        blockQuality.noteKeyframe(quantizer: 20)
        blockQuality.noteCost(blocks: 10, bytes: 4_000)
        var batch = BlockMap(Self.size)
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 4_000, at: Self.later) == 10)
        for _ in 0..<50 { blockQuality.noteCost(blocks: 100, bytes: 1_000) }
        batch.clear()
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 350, at: Self.later) > 30)
        blockQuality.noteCost(blocks: 0, bytes: 10)
        blockQuality.noteCost(blocks: 10, bytes: -10)
    }

    @Test func blocksThatChangeAreNotRefined() {
        var blockQuality = BlockQualityMap(Self.size, stillTime: .milliseconds(100))
        blockQuality.noteKeyframe(quantizer: 20)
        blockQuality.noteChange(map(0..<39), at: Self.start)
        var batch = BlockMap(Self.size)
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 100_000, at: Self.start + .milliseconds(99)) == 1)
        #expect(batch == map([39]))
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 100_000, at: Self.start + .milliseconds(100)) == 39)
    }

    @Test func repeatedBatchesEndWithEverythingSharp() {
        var blockQuality = BlockQualityMap(Self.size)
        blockQuality.noteKeyframe(quantizer: 33)
        var rounds = 0
        while blockQuality.unrefinedCount > 0 {
            rounds += 1
            var batch = BlockMap(Self.size)
            #expect(blockQuality.addBatch(to: &batch, byteBudget: 40 * 9, at: Self.later) > 0)
            blockQuality.noteEncoded(batch, quantizer: 4)
        }
        #expect(rounds == 5)
        var batch = BlockMap(Self.size)
        #expect(blockQuality.addBatch(to: &batch, byteBudget: 100_000, at: Self.later) == 0)
    }
}
