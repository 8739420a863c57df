import MediaCore
import RTPWire
import Testing

@Suite struct SourceDescriptionTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 254, 255]) func cnamesOfAllLengthsComeBack(length: Int) throws {
        let name = String(repeating: "n", count: length)
        let bytes = try written { try SourceDescription.write(ssrc: 5, cname: name, into: &$0) }
        #expect(bytes.count % 4 == 0)
        #expect(bytes.last == 0, "a chunk ends with a zero")
        try packets(bytes) { found throws in
            guard case .sourceDescription(let description) = found.first else {
                Issue.record("no description")
                return
            }
            #expect(description.map(\.ssrc) == [5])
            #expect(description.map { $0.cname.map(Array.init) } == [Array(name.utf8)])
        }
    }

    @Test func chunksWithOtherItemsOrNoneArePassed() throws {
        let chunks: [UInt8] = [0, 0, 0, 1, 2, 1, 65, 1, 1, 66, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]
        try packets([0x82, 202, 0, 5] + chunks) { found throws in
            guard case .sourceDescription(let description) = found.first else {
                Issue.record("no description")
                return
            }
            #expect(description.map(\.ssrc) == [1, 2])
            #expect(description.map { $0.cname.map(Array.init) } == [[66], nil])
        }
    }

    @Test func anItemLongerThanThePacketEndsTheChunks() throws {
        try packets([0x81, 202, 0, 2, 0, 0, 0, 1, 1, 255, 65, 66]) { found throws in
            guard case .sourceDescription(let description) = found.first else { return }
            #expect(description.map(\.ssrc).isEmpty)
        }
    }
}
