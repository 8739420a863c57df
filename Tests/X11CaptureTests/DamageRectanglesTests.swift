import MediaCore
import TestSupport
import Testing

@testable import X11Capture

@Suite struct DamageRectanglesTests {
    private let size = PixelSize(width: 1366, height: 768)

    private func plan(_ map: BlockMap) -> [PixelRect] {
        var plan = DamageRectangles()
        plan.make(for: map)
        return plan.rects
    }

    @Test func nothingIsReadWithoutDamage() { #expect(plan(BlockMap(size)).isEmpty) }

    @Test func wholeScreenIsReadInBands() {
        let rects = plan(BlockMap(size, filled: true))
        #expect(rects.count == 6)
        #expect(rects.allSatisfy { $0.width == 1366 && $0.height <= 128 })
    }

    @Test func cornersAreReadApart() {
        let corners = map(
            size, PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: 1365, y: 0, width: 1, height: 1),
            PixelRect(x: 0, y: 767, width: 1, height: 1), PixelRect(x: 1365, y: 767, width: 1, height: 1))
        #expect(plan(corners).count == 4)
    }

    @Test func neighboursAreReadTogether() {
        let words = map(
            size, PixelRect(x: 0, y: 32, width: 64, height: 16), PixelRect(x: 100, y: 32, width: 64, height: 32),
            PixelRect(x: 20, y: 48, width: 10, height: 10))
        #expect(plan(words) == [PixelRect(x: 0, y: 32, width: 176, height: 32)])
    }

    @Test(arguments: 0..<40)
    func everyDamagedBlockIsReadExactlyOnce(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var damage = BlockMap(size)
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            damage.insert(
                PixelRect(
                    x: Int.random(in: 0..<1366, using: &random), y: Int.random(in: 0..<768, using: &random),
                    width: Int.random(in: 1..<200, using: &random), height: Int.random(in: 1..<120, using: &random)))
        }
        var reads = [Int](repeating: 0, count: damage.blocks.count)
        for rect in plan(damage) {
            #expect(rect.x % 16 == 0 && rect.y % 16 == 0 && rect.clipped(to: size) == rect && !rect.isEmpty)
            let covered = map(size, rect)
            for index in reads.indices where covered.blocks[index] != 0 { reads[index] += 1 }
        }
        for index in reads.indices {
            #expect(reads[index] <= 1, "seed \(seed)")
            #expect(reads[index] >= Int(damage.blocks[index]), "seed \(seed)")
        }
    }
}
