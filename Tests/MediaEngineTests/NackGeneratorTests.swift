import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct NackGeneratorTests {
    private func due(_ register: inout NackGenerator, _ now: MediaInstant) -> [Int64] {
        var result: [Int64] = []
        register.takeDue(now: now) {
            result.append($0)
            return true
        }
        return result
    }

    @Test func aMissingPacketIsAskedForAtOnceAndAgainAfterARoundTrip() {
        var register = NackGenerator()
        register.learn(.milliseconds(40))
        expect(register.insert(from: 65_535, to: 65_538, now: .at(0)))
        expect(due(&register, .at(0)) == [65_535, 65_536, 65_537])
        // Sent again, as the NACK may be lost.
        expect(due(&register, .at(8)).isEmpty)
        expect(due(&register, .at(10)) == [65_535, 65_536, 65_537])
        expect(due(&register, .at(30)).isEmpty)
        expect(register.remove(65_536, isRepeat: true, now: .at(40)) != nil)
        expect(due(&register, .at(46)) == [65_535, 65_537])
        expect(register.remove(65_536, isRepeat: true, now: .at(47)) == nil)
    }

    /// A packet that is missed at `start`, requested, and retransmitted so much later.
    private func repair(_ register: inout NackGenerator, _ sequence: Int64, from start: Int, after milliseconds: Int) {
        _ = register.insert(from: sequence, to: sequence + 1, now: .at(start))
        _ = due(&register, .at(start))
        expect(register.remove(sequence, isRepeat: true, now: .at(start + milliseconds)) != nil)
    }

    @Test func whatIsRepeatedUnaskedSaysNothingOfTheRoundTrip() {
        for told in [nil, MediaDuration.milliseconds(200)] {
            var register = NackGenerator()
            register.learn(.milliseconds(200))
            register.told = told
            for number in 0..<100 {
                // This packet was not missing: the sender sends unrequested duplicates.
                _ = register.remove(Int64(number * 2), isRepeat: true, now: .at(number * 300))
                repair(&register, Int64(number * 2 + 1), from: number * 300, after: number % 10 == 9 ? 200 : 15)
            }
            #expect(register.roundTrip > .milliseconds(told == nil ? 100 : 195))
            #expect(register.roundTrip <= .milliseconds(200))
        }
    }

    @Test func aShorterWayIsLearntAllTheSame() {
        for told in [nil, MediaDuration.milliseconds(20)] {
            var register = NackGenerator()
            register.learn(.milliseconds(200))
            register.told = told
            for number in 0..<400 {
                _ = register.remove(Int64(number * 2), isRepeat: true, now: .at(number * 300))
                repair(&register, Int64(number * 2 + 1), from: number * 300, after: 20)
            }
            #expect(register.roundTrip < .milliseconds(60))
        }
    }

    @Test func whatWasOnlyLateMakesTheNextRequestWait() {
        var register = NackGenerator()
        _ = register.insert(from: 10, to: 11, now: .at(0))
        _ = register.remove(10, isRepeat: false, now: .at(8))
        _ = register.insert(from: 20, to: 21, now: .at(100))
        expect(due(&register, .at(101)).isEmpty)
        expect(due(&register, .at(110)) == [20])
    }

    @Test func theRoundTripIsLearntEvenIfItIsFarLongerThanAssumed() {
        var register = NackGenerator()
        _ = register.insert(from: 1, to: 2, now: .at(0))
        for time in stride(from: 0, to: 300, by: 5) { _ = due(&register, .at(time)) }
        _ = register.remove(1, isRepeat: true, now: .at(300))
        #expect(register.hasRoundTrip && register.roundTrip >= .milliseconds(200))
    }

    @Test func aGapThatDoesNotFitIsRefused() {
        var register = NackGenerator()
        expect(!register.insert(from: 0, to: Int64(NackGenerator.capacity) + 1, now: .at(0)))
        #expect(register.isEmpty)
        expect(register.insert(from: 0, to: Int64(NackGenerator.capacity), now: .at(0)))
        register.forget(before: 500)
        #expect(register.count == NackGenerator.capacity - 500 && register.first?.sequence == 500)
    }
}
