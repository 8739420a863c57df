import MediaCore
import RTPWire
import Testing

@Suite struct NackTests {
    private func numbers(_ bytes: [UInt8]) throws -> [UInt16] {
        try packets(bytes) { found throws in
            guard case .nack(let nack) = found.first else { return [] }
            #expect(nack.senderSSRC == 1 && nack.mediaSSRC == 2)
            return nack.map(\.rawValue)
        }
    }

    private func nack(_ lost: [UInt16], capacity: Int = 1_500) throws -> [UInt8] {
        try written(capacity) { writer throws in
            var nack = NackWriter(senderSSRC: 1, mediaSSRC: 2)
            for number in lost { try nack.append(SequenceNumber(number), into: &writer) }
        }
    }

    @Test(arguments: wrapPoints) func aRunOf17FitsOneEntryAndOf18Two(first: UInt16) throws {
        let run = (0..<18).map { first &+ UInt16($0) }
        let one = try nack(Array(run.dropLast()))
        #expect(one.count == 16)
        #expect(Array(one.suffix(2)) == [0xFF, 0xFF])
        #expect(try numbers(one) == Array(run.dropLast()))
        let two = try nack(run)
        #expect(two.count == 20)
        #expect(Array(two[0..<4]) == [0x81, 205, 0, 4])
        #expect(try numbers(two) == run)
    }

    @Test(arguments: wrapPoints) func everySecondNumberComesBack(first: UInt16) throws {
        let lost = (0..<100).map { first &+ UInt16($0 * 2) }
        #expect(try numbers(try nack(lost)) == lost)
    }

    @Test func anyOrderIsRightAndRepetitionOfTheFirstIsNone() throws {
        #expect(try numbers(try nack([10, 10, 5, 65_535, 6])) == [10, 5, 65_535, 6])
    }

    @Test func withoutNumbersThereIsNoPacket() throws {
        #expect(try nack([]).isEmpty)
    }

    @Test func aFullBufferKeepsTheEntriesBefore() throws {
        var nack = NackWriter(senderSSRC: 1, mediaSSRC: 2)
        let bytes = try written(19) { writer throws in
            try nack.append(SequenceNumber(1), into: &writer)
            #expect(throws: BufferFull()) { try nack.append(SequenceNumber(100), into: &writer) }
            try nack.append(SequenceNumber(3), into: &writer)
        }
        #expect(try numbers(bytes) == [1, 3])
        #expect(throws: BufferFull()) { try self.nack([1], capacity: 15) }
    }

    @Test func anEntryThatIsMissingIsMalformed() throws {
        try withBytes([0x81, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
        }
    }
}
