import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct SequenceValidatorTests {
    @Test(arguments: wrapPoints)
    func numbersGoOnAcrossTheWrap(start: UInt16) {
        var validator = SequenceValidator()
        expect(validator.take(SequenceNumber(start)) == .next(Int64(start)))
        for step in 1...5 {
            expect(validator.take(SequenceNumber(start &+ UInt16(step))) == .next(Int64(start) + Int64(step)))
        }
        expect(validator.take(SequenceNumber(start &+ 2)) == .next(Int64(start) + 2))
        #expect(validator.highest == Int64(start) + 5)
    }

    @Test(arguments: wrapPoints)
    func aJumpCountsOnlyIfTheNextPacketFollowsIt(start: UInt16) {
        var validator = SequenceValidator()
        _ = validator.take(SequenceNumber(start))
        let far = start &+ 20_000
        expect(validator.take(SequenceNumber(far)) == .jump)
        expect(validator.take(SequenceNumber(start &+ 1)) == .next(Int64(start) + 1))
        expect(validator.take(SequenceNumber(far &+ 1)) == .jump)
        expect(validator.take(SequenceNumber(far &+ 2)) == .restarted(Int64(far &+ 2)))
        expect(validator.take(SequenceNumber(far &+ 3)) == .next(Int64(far &+ 2) + 1))
    }

    @Test func aRetransmissionFarFromTheHighestIsRefused() {
        var validator = SequenceValidator()
        _ = validator.take(SequenceNumber(65_535))
        expect(validator.takeRetransmitted(SequenceNumber(2)) == 65_538)
        expect(validator.takeRetransmitted(SequenceNumber(30_000)) == nil)
    }
}
