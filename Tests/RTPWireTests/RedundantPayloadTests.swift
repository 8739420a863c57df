import RTPWire
import TestSupport
import Testing

@Suite struct RedundantPayloadTests {
    private func blocks(_ bytes: [UInt8]) throws -> [(type: UInt8, offset: Int, isPrimary: Bool, bytes: [UInt8])] {
        try withBytes(bytes) {
            try RedundantPayload($0).map { ($0.payloadType, $0.timestampOffset, $0.isPrimary, Array($0.bytes)) }
        }
    }

    @Test func olderBlocksComeBeforeThePacketsOwn() throws {
        // RFC 2198 section 3: blocks of 2 and 3 bytes, 1920 and 960 ticks older.
        let found = try blocks([0xEF, 0x1E, 0x00, 0x02, 0xEF, 0x0F, 0x00, 0x03, 0x6F, 1, 2, 3, 4, 5, 6, 7])
        #expect(found.map(\.type) == [111, 111, 111])
        #expect(found.map(\.offset) == [1_920, 960, 0])
        #expect(found.map(\.isPrimary) == [false, false, true])
        #expect(found.map(\.bytes) == [[1, 2], [3, 4, 5], [6, 7]])
    }

    @Test(arguments: [(0, 0), (1, 1), (127, 255), (0x3FFF, 0x3FF), (960, 256), (64, 1_023)])
    func writtenValuesAreReadBack(offset: Int, length: Int) throws {
        let bytes = try written(2_000) { writer throws in
            try RedundantPayload.write(payloadType: 111, timestampOffset: offset, length: length, into: &writer)
            try RedundantPayload.write(payloadType: 111, into: &writer)
            try writer.write(zeros: length)
            try writer.write(uint8: 9)
        }
        let found = try blocks(bytes)
        #expect(found.count == 2 && found[0].offset == offset && found[0].bytes.count == length)
        #expect(found[1].bytes == [9] && found[1].isPrimary)
    }

    @Test(
        arguments: [
            [], [0x80], [0xEF, 0, 0], [0xEF, 0, 0, 0], [0xEF, 0, 0, 1, 0x6F], [0xEF, 0x0F, 0x03, 0xFF, 0x6F, 1],
            Array(repeating: 0x80, count: 80),
        ] as [[UInt8]])
    func whatGoesPastThePayloadIsRefused(bytes: [UInt8]) {
        #expect(throws: RTPMalformed(.redundancy)) { try blocks(bytes) }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func anythingEndsAndStaysInside(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: .min ... .max, using: &random) | (random.chance(40) ? 0x80 : 0)
            }
            if let found = try? blocks(bytes) {
                #expect(found.reduce(0) { $0 + $1.bytes.count } < bytes.count && found.count <= 16)
                #expect(found.last?.isPrimary == true)
            }
        }
    }
}
