import Matroska
import Testing

/// Blocks with several frames (RFC 9559 section 10.3) and block groups.
@Suite struct BlockLacingTests {
    /// A cluster at 1,000 ms with one element.
    private func cluster(_ element: [UInt8]) -> [UInt8] { [0xE7, 0x82, 0x03, 0xE8] + element }

    private func block(_ id: UInt8 = 0xA3, flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [id, 0x80 | UInt8(payload.count + 4), 0x81, 0, 10, flags] + payload
    }

    private func frames(_ payload: [UInt8], lacing: UInt8) -> [[UInt8]]? {
        RecordedCluster(cluster(block(flags: 0x80 | lacing << 1, payload)))?.blocks.map { Array($0.payload) }
    }

    @Test func eachKindOfLacingIsRead() {
        let one = [UInt8](repeating: 1, count: 3)
        let two = [UInt8](repeating: 2, count: 5)
        let three = [UInt8](repeating: 3, count: 4)
        #expect(frames([2, 3, 5] + one + two + three, lacing: 1) == [one, two, three])
        // The first size is 3, the second 2 more: 0x40 less 0x3F is 1.
        #expect(frames([2, 0x83, 0x80 + 63 + 2] + one + two + three, lacing: 3) == [one, two, three])
        #expect(frames([2] + one + one + one, lacing: 2) == [one, one, one])
        #expect(frames([0] + two, lacing: 1) == [two])
    }

    @Test func aSizeOfSeveralBytesIsRead() {
        let long = [UInt8](repeating: 7, count: 100)
        #expect(frames([1, 100] + long + [9], lacing: 1) == [long, [9]])
        #expect(frames([1, 0x40, 100] + long + [9], lacing: 3) == [long, [9]])
    }

    @Test(
        arguments: [
            (1, [2, 200, 200, 1]), (1, [3]), (1, [255, 255]), (2, [2, 1, 2]), (3, [1]), (3, [2, 0x83, 0x80, 1, 2, 3]),
            (3, [1, 0x00, 1]), (1, []), (3, [1, 0x10, 0xFF, 0xFF, 0xFF, 1]),
        ] as [(UInt8, [UInt8])])
    func sizesThatDoNotFitAreDamage(_ lacing: UInt8, _ payload: [UInt8]) {
        #expect(frames(payload, lacing: lacing) == nil)
    }

    /// Frames of Opus say how long they are; others follow the header of the file.
    @Test func framesOfABlockFollowEachOther() {
        let twenty: [UInt8] = [0xFC, 1]
        var format = BlockFormat()
        format.opusTracks = [1]
        let content = cluster(block(flags: 0x82, [2, 2, 2] + twenty + twenty + twenty))
        #expect(RecordedCluster(content, format)?.blocks.map(\.time) == [1_010, 1_030, 1_050])
        format = BlockFormat()
        format.durations = [1: 24_000_000]
        #expect(RecordedCluster(content, format)?.blocks.map(\.time) == [1_010, 1_034, 1_058])
        #expect(RecordedCluster(content)?.blocks.map(\.time) == [1_010, 1_010, 1_010])
    }

    @Test func aGroupIsAKeyFrameUnlessItRefersToAnother() {
        let inner = block(0xA1, flags: 0, [1, 2])
        let reference: [UInt8] = [0xFB, 0x81, 0xFF]
        let group = { (content: [UInt8]) in [0xA0, 0x80 | UInt8(content.count)] + content }
        #expect(RecordedCluster(cluster(group(inner)))?.blocks.map(\.isKeyframe) == [true])
        let other = RecordedCluster(cluster(group(inner + reference)))
        #expect(other?.blocks.map(\.isKeyframe) == [false])
        #expect(other?.blocks.map(\.position) == [4])
        #expect(RecordedCluster(cluster(group(reference))) == nil)
    }

    @Test func timesAreInTheUnitsOfTheFile() {
        var format = BlockFormat()
        format.timestampScale = 100_000
        let read = RecordedCluster(cluster(block(flags: 0x80, [1])), format)
        #expect(read?.timestamp == 100 && read?.blocks.map(\.time) == [101])
        format.timestampScale = .max
        #expect(RecordedCluster(cluster(block(flags: 0x80, [1])), format) == nil)
    }

    @Test func blocksThatCannotBeReadAreCounted() {
        #expect(RecordedCluster(cluster([0xAF, 0x81, 0]))?.foreignBlocks == 1)
        #expect(RecordedCluster(cluster([0xA3, 0x85, 0x40, 0x80, 0, 0, 0x80]))?.foreignBlocks == 1)
    }
}
