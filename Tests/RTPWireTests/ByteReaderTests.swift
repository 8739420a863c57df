import RTPWire
import Testing

@Suite struct ByteReaderTests {
    @Test func fieldsAreBigEndian() throws {
        try withBytes(1...18) { bytes throws in
            var reader = ByteReader(bytes)
            #expect(try reader.uint8() == 0x01)
            #expect(try reader.uint16() == 0x0203)
            #expect(try reader.uint24() == 0x04_0506)
            #expect(try reader.uint32() == 0x0708_090A)
            #expect(try reader.uint64() == 0x0B0C_0D0E_0F10_1112)
            #expect(reader.remaining == 0)
        }
    }

    @Test func aReadThatFailsMovesNothing() throws {
        try withBytes([1, 2]) { bytes throws in
            var reader = ByteReader(bytes)
            #expect(throws: RTPMalformed(.truncated)) { try reader.uint24() }
            #expect(throws: RTPMalformed(.truncated)) { try reader.uint32() }
            #expect(throws: RTPMalformed(.truncated)) { try reader.uint64() }
            #expect(reader.position == 0)
        }
    }

    @Test(arguments: [-1, 3, Int.max, Int.min]) func aCountOutsideTheBytesFails(count: Int) throws {
        try withBytes([1, 2]) { bytes throws in
            var reader = ByteReader(bytes)
            #expect(throws: RTPMalformed(.truncated)) { _ = try reader.bytes(count) }
            #expect(throws: RTPMalformed(.truncated)) { try reader.skip(count) }
            #expect(reader.rest().count == 2)
        }
    }

    @Test func nothingCanBeReadFromNoMemory() throws {
        var reader = ByteReader(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(throws: RTPMalformed(.truncated)) { try reader.uint8() }
        #expect(reader.rest().isEmpty)
    }

    @Test func reasonsIndexAnArrayOfCounters() throws {
        #expect(RTPMalformed.Reason.allCases.map { Int($0.rawValue) } == Array(0..<RTPMalformed.Reason.allCases.count))
    }
}
