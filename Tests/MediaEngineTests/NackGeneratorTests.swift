import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct NackGeneratorTests {
    private func due(_ nacks: inout NackGenerator, _ now: MediaInstant) -> [Int64] {
        var result: [Int64] = []
        nacks.takeDue(now: now) {
            result.append($0)
            return true
        }
        return result
    }

    @Test func aMissingPacketIsRequestedAtOnceAndAgainAfterARoundTrip() {
        var nacks = NackGenerator()
        nacks.learn(.milliseconds(40))
        expect(nacks.insert(from: 65_535, to: 65_538, now: .at(0)))
        expect(due(&nacks, .at(0)) == [65_535, 65_536, 65_537])
        // Sent again, as the NACK may be lost.
        expect(due(&nacks, .at(8)).isEmpty)
        expect(due(&nacks, .at(10)) == [65_535, 65_536, 65_537])
        expect(due(&nacks, .at(30)).isEmpty)
        expect(nacks.remove(65_536, isRetransmission: true, now: .at(40)) != nil)
        expect(due(&nacks, .at(46)) == [65_535, 65_537])
        expect(nacks.remove(65_536, isRetransmission: true, now: .at(47)) == nil)
    }

    /// A packet that is missed at `start`, requested, and retransmitted so much later.
    private func repair(_ nacks: inout NackGenerator, _ sequence: Int64, from start: Int, after milliseconds: Int) {
        _ = nacks.insert(from: sequence, to: sequence + 1, now: .at(start))
        _ = due(&nacks, .at(start))
        expect(nacks.remove(sequence, isRetransmission: true, now: .at(start + milliseconds)) != nil)
    }

    @Test func duplicatesDoNotAffectTheRoundTrip() {
        for reported in [nil, MediaDuration.milliseconds(200)] {
            var nacks = NackGenerator()
            nacks.learn(.milliseconds(200))
            nacks.reportedRoundTrip = reported
            for number in 0..<100 {
                // This packet was not missing: the sender sends unrequested duplicates.
                _ = nacks.remove(Int64(number * 2), isRetransmission: true, now: .at(number * 300))
                repair(&nacks, Int64(number * 2 + 1), from: number * 300, after: number % 10 == 9 ? 200 : 15)
            }
            #expect(nacks.roundTrip > .milliseconds(reported == nil ? 100 : 195))
            #expect(nacks.roundTrip <= .milliseconds(200))
        }
    }

    @Test func aShorterRoundTripIsLearntDespiteDuplicates() {
        for reported in [nil, MediaDuration.milliseconds(20)] {
            var nacks = NackGenerator()
            nacks.learn(.milliseconds(200))
            nacks.reportedRoundTrip = reported
            for number in 0..<400 {
                _ = nacks.remove(Int64(number * 2), isRetransmission: true, now: .at(number * 300))
                repair(&nacks, Int64(number * 2 + 1), from: number * 300, after: 20)
            }
            #expect(nacks.roundTrip < .milliseconds(60))
        }
    }

    @Test func reorderingDelaysTheNextRequest() {
        var nacks = NackGenerator()
        _ = nacks.insert(from: 10, to: 11, now: .at(0))
        _ = nacks.remove(10, isRetransmission: false, now: .at(8))
        _ = nacks.insert(from: 20, to: 21, now: .at(100))
        expect(due(&nacks, .at(101)).isEmpty)
        expect(due(&nacks, .at(110)) == [20])
    }

    @Test func theRoundTripIsLearntEvenIfItIsFarLongerThanAssumed() {
        var nacks = NackGenerator()
        _ = nacks.insert(from: 1, to: 2, now: .at(0))
        for time in stride(from: 0, to: 300, by: 5) { _ = due(&nacks, .at(time)) }
        _ = nacks.remove(1, isRetransmission: true, now: .at(300))
        #expect(nacks.hasRoundTrip && nacks.roundTrip >= .milliseconds(200))
    }

    @Test func aGapThatDoesNotFitIsRefused() {
        var nacks = NackGenerator()
        expect(!nacks.insert(from: 0, to: Int64(NackGenerator.capacity) + 1, now: .at(0)))
        #expect(nacks.isEmpty)
        expect(nacks.insert(from: 0, to: Int64(NackGenerator.capacity), now: .at(0)))
        nacks.forget(before: 500)
        #expect(nacks.count == NackGenerator.capacity - 500 && nacks.first?.sequence == 500)
    }
}
