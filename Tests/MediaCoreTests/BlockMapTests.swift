import MediaCore
import Testing

@Suite struct BlockMapTests {
    static let size = PixelSize(width: 50, height: 40)

    private func map(_ rects: PixelRect...) -> BlockMap {
        var map = BlockMap(Self.size)
        for rect in rects { map.insert(rect) }
        return map
    }

    @Test func subtractionLeavesWhatTheOtherHasNot() {
        var all = BlockMap(Self.size, filled: true)
        all.subtract(map(PixelRect(x: 0, y: 0, width: 16, height: 40)))
        #expect(all.count == 9)
        #expect(all == map(PixelRect(x: 16, y: 0, width: 34, height: 40)))
        all.subtract(BlockMap(Self.size, filled: true))
        #expect(all.isEmpty)
    }

    @Test func aRowIsRemovedAlone() {
        var all = BlockMap(Self.size, filled: true)
        all.remove(row: 0)
        all.remove(row: 2)
        #expect(all == map(PixelRect(x: 0, y: 16, width: 50, height: 16)))
        all.remove(row: 1)
        #expect(all.isEmpty)
    }
}
