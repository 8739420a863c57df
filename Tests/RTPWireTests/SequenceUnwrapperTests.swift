import RTPWire
import Testing

@Suite struct SequenceUnwrapperTests {
    @Test(arguments: wrapPoints) func countingUpForFourRoundsNeverWraps(first: UInt16) throws {
        var unwrapper = SequenceUnwrapper()
        for step in 0..<(4 * 65_536) {
            let expected = Int64(first) + Int64(step)
            if unwrapper.unwrap(SequenceNumber(truncating: expected)) != expected {
                Issue.record("lost count at \(expected)")
                return
            }
        }
    }

    @Test func lateNumbersBelongBeforeTheWrap() throws {
        var unwrapper = SequenceUnwrapper()
        #expect(unwrapper.unwrap(SequenceNumber(65_535)) == 65_535)
        #expect(unwrapper.unwrap(SequenceNumber(1)) == 65_537)
        #expect(unwrapper.unwrap(SequenceNumber(65_534)) == 65_534)
        #expect(unwrapper.highest == 65_537)
        #expect(unwrapper.unwrap(SequenceNumber(2)) == 65_538)
    }

    @Test func aNumberFromBeforeTheFirstIsNegative() throws {
        var unwrapper = SequenceUnwrapper()
        #expect(unwrapper.unwrap(SequenceNumber(0)) == 0)
        #expect(unwrapper.unwrap(SequenceNumber(65_535)) == -1)
        #expect(unwrapper.highest == 0)
    }

    @Test func peekingRemembersNothing() throws {
        var unwrapper = SequenceUnwrapper()
        #expect(unwrapper.peek(SequenceNumber(9)) == 9)
        #expect(unwrapper.highest == nil)
        _ = unwrapper.unwrap(SequenceNumber(65_535))
        #expect(unwrapper.peek(SequenceNumber(0)) == 65_536)
        #expect(unwrapper.highest == 65_535)
    }
}
