import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct SequenceValidatorTests {
    @Test(arguments: wrapPoints)
    func numbersGoOnAcrossTheWrap(start: UInt16) {
        var gate = SequenceValidator()
        expect(gate.take(SequenceNumber(start)) == .next(Int64(start)))
        for step in 1...5 {
            expect(gate.take(SequenceNumber(start &+ UInt16(step))) == .next(Int64(start) + Int64(step)))
        }
        expect(gate.take(SequenceNumber(start &+ 2)) == .next(Int64(start) + 2))
        #expect(gate.highest == Int64(start) + 5)
    }

    @Test(arguments: wrapPoints)
    func aJumpCountsOnlyIfTheNextPacketFollowsIt(start: UInt16) {
        var gate = SequenceValidator()
        _ = gate.take(SequenceNumber(start))
        let far = start &+ 20_000
        expect(gate.take(SequenceNumber(far)) == .jump)
        expect(gate.take(SequenceNumber(start &+ 1)) == .next(Int64(start) + 1))
        expect(gate.take(SequenceNumber(far &+ 1)) == .jump)
        expect(gate.take(SequenceNumber(far &+ 2)) == .restarted(Int64(far &+ 2)))
        expect(gate.take(SequenceNumber(far &+ 3)) == .next(Int64(far &+ 2) + 1))
    }

    @Test func aRepetitionFromFarAwayIsRefused() {
        var gate = SequenceValidator()
        _ = gate.take(SequenceNumber(65_535))
        expect(gate.takeRepeat(SequenceNumber(2)) == 65_538)
        expect(gate.takeRepeat(SequenceNumber(30_000)) == nil)
    }
}
