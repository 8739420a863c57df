import RTPWire
import Testing

@Suite struct SequenceNumberTests {
    @Test(arguments: wrapPoints) func theNextNumberIsNewerEverywhere(raw: UInt16) throws {
        let number = SequenceNumber(raw)
        #expect(number.next.isNewer(than: number))
        #expect(!number.isNewer(than: number.next))
        #expect(!number.isNewer(than: number))
        #expect(number.next.previous == number)
    }

    @Test(arguments: wrapPoints, [-32_768, -32_767, -1, 0, 1, 32_766, 32_767])
    func distanceUndoesAdvancing(raw: UInt16, steps: Int) throws {
        let number = SequenceNumber(raw)
        #expect(number.distance(to: number.advanced(by: steps)) == steps)
    }

    @Test(arguments: wrapPoints) func halfWayRoundIsBackwards(raw: UInt16) throws {
        let number = SequenceNumber(raw)
        #expect(number.distance(to: number.advanced(by: 32_768)) == -32_768)
        #expect(!number.advanced(by: 32_768).isNewer(than: number))
    }
}
