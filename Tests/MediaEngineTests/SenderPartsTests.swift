import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct PacketHistoryTests {
    private func fill(_ history: inout PacketHistory, _ count: Int) {
        for _ in 0..<count {
            history.nextSlot[0] = UInt8(truncatingIfNeeded: history.nextToWrite)
            history.commit(length: 10, layout: RTPPacketLayout())
        }
    }

    @Test(arguments: wrapPoints)
    func sentPacketsStayUntilTheirSlotIsNeeded(first: UInt16) {
        var history = PacketHistory(capacity: 8, slotBytes: 200, first: Int64(first))
        fill(&history, 8)
        #expect(history.room == 0 && history.waitingBytes == 80)
        for _ in 0..<8 { history.noteSent(now: .at(0)) }
        #expect(history.room == 8 && history.waitingBytes == 0)
        #expect(history.sent(Int64(first))?.bytes[0] == UInt8(truncatingIfNeeded: first))
        fill(&history, 1)
        #expect(history.sent(Int64(first)) == nil && history.sent(Int64(first) + 1) != nil)
        #expect(history.sent(Int64(first) + 8) == nil, "it waits")
    }

    @Test func nothingBeforeAKeyFrameIsRepeated() {
        var history = PacketHistory(capacity: 8, slotBytes: 200, first: 65_534)
        fill(&history, 4)
        history.noteSent(now: .at(0))
        history.noteSent(now: .at(0))
        history.dropWaiting()
        history.beginKeyframe()
        #expect(history.isEmpty && history.nextToWrite == 65_536 && history.waitingBytes == 0)
        fill(&history, 2)
        history.noteSent(now: .at(1))
        #expect(history.sent(65_535) == nil && history.sent(65_536) != nil)
    }
}

@Suite struct SentPacketHistoryTests {
    @Test func fatesAreNewsOnceAcrossTheWrap() {
        var sent = SentPacketHistory(capacity: 16, first: 65_530)
        for _ in 0..<10 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        #expect(sent.extended(SequenceNumber(3)) == 65_539)
        #expect(sent.extended(SequenceNumber(4)) == nil, "not sent yet")
        #expect(sent.extended(SequenceNumber(65_529)) == nil, "before the first")
        guard case .lost = sent.take(65_536, hasArrived: false) else {
            Issue.record("not lost")
            return
        }
        guard case .nothing = sent.take(65_536, hasArrived: false) else {
            Issue.record("lost twice")
            return
        }
        guard case .arrivedLate = sent.take(65_536, hasArrived: true) else {
            Issue.record("not late")
            return
        }
        guard case .nothing = sent.take(65_536, hasArrived: true) else {
            Issue.record("arrived twice")
            return
        }
        #expect(sent.highestAcknowledged == 65_536 && sent.isAcknowledged(65_536))
    }

    @Test func theOtherClockGoesOnAcrossItsWrap() {
        var sent = SentPacketHistory(capacity: 16, first: 0)
        expect(sent.clockOffset(0x7F_FFFF) == .zero)
        // 24 bits, signed: the next value is the most negative one.
        expect(sent.clockOffset(-0x80_0000) == .milliseconds(64) * (1 << 24))
        expect(sent.clockOffset(-0x7F_FFFF) == .milliseconds(64) * (1 << 24))
    }

    @Test func whatIsForgottenIsUnknown() {
        var sent = SentPacketHistory(capacity: 16, first: 1)
        for _ in 0..<40 { _ = sent.note(bytes: 100, now: .at(0), isDuringStall: false) }
        #expect(sent.extended(SequenceNumber(20)) == nil && sent.extended(SequenceNumber(30)) == 30)
    }
}

@Suite struct PacerTests {
    @Test func aSmallFrameLeavesAtOnceAndALargeOneInSteps() {
        var pacer = Pacer(rate: .kilobits(8_000), now: .at(0))
        // 8 Mbit/s are 1,000 bytes per millisecond, so 40 ms allow 40,000 bytes at once.
        var atOnce = 0
        while pacer.maySend(now: .at(0)) {
            pacer.note(bytes: 1_600, now: .at(0))
            atOnce += 1
        }
        #expect(atOnce == 25)
        let next = pacer.nextSend(now: .at(0))
        #expect(next > .at(4) && next <= .at(6))
        var step = 0
        while pacer.maySend(now: next) {
            pacer.note(bytes: 1_600, now: next)
            step += 1
        }
        #expect((3...4).contains(step))
    }

    @Test func whateverTheRateAThousandPacketsTakeFortyEightMilliseconds() {
        var pacer = Pacer(rate: .kilobits(10_000_000), now: .at(0))
        var now = MediaInstant.at(0)
        var sent = 0
        var wakes = 0
        while sent < 1_000 {
            while sent < 1_000, pacer.maySend(now: now) {
                pacer.note(bytes: 1_200, now: now)
                sent += 1
            }
            if now == .at(0) { #expect(sent == 32) }
            guard sent < 1_000 else { break }
            let next = pacer.nextSend(now: now)
            #expect(next > now)
            now = next
            wakes += 1
        }
        #expect(now > .at(47) && now < .at(49))
        #expect(wakes <= 100)
    }

    @Test func theMeanIsTheRate() {
        var pacer = Pacer(rate: .kilobits(1_000), now: .at(0))
        var sent = 0
        var now = MediaInstant.at(0)
        while now < .at(10_000) {
            while pacer.maySend(now: now) {
                pacer.note(bytes: 1_200, now: now)
                sent += 1_200
            }
            now = max(pacer.nextSend(now: now), now + .microseconds(100))
        }
        #expect((1_240_000...1_262_000).contains(sent))
    }
}

@Suite struct PacketTrainEstimatorTests {
    /// The result for packets that were sent back to back at `lineKilobits` and arrive over a link of this rate.
    private func train(_ kilobits: Int, _ count: Int = 12, lineKilobits: Int = 100_000) -> PacketTrainEstimator
        .Result?
    {
        var meter = PacketTrainEstimator()
        var sent = MediaInstant.at(0)
        var arrival = MediaInstant.at(50)
        for _ in 0..<count {
            _ = meter.note(bytes: 1_200, sent: sent, arrival: arrival)
            sent = sent + Bitrate.kilobits(lineKilobits).duration(ofBytes: 1_200)
            arrival = arrival + Bitrate.kilobits(kilobits).duration(ofBytes: 1_200)
        }
        return meter.takeResult()
    }

    @Test(arguments: [500, 1_000, 3_000, 10_000])
    func theNarrowestLinkShows(kilobits: Int) throws {
        let result = try require(train(kilobits))
        #expect(result.isSaturated)
        #expect((kilobits * 90 / 100...kilobits).contains(result.rate.kilobitsPerSecond))
    }

    @Test func aFewPacketsShowNothing() { expect(train(1_000, 3) == nil) }

    @Test func noMoreIsBelievedThanWasSent() throws {
        let result = try require(train(50_000, 12, lineKilobits: 2_000))
        #expect(!result.isSaturated && result.rate <= .kilobits(2_300))
    }
}

@Suite struct TrendlineEstimatorTests {
    private func signal(growth microseconds: Int) -> TrendlineEstimator.Signal {
        var trend = TrendlineEstimator()
        for step in 0..<60 {
            trend.note(
                sent: .at(step * 20), arrival: .at(step * 20 + 50) + .microseconds(step * microseconds))
        }
        return trend.signal
    }

    @Test func aQueueThatGrowsIsSeen() {
        expect(signal(growth: 0) == .normal)
        expect(signal(growth: 4_000) == .overuse)
        expect(signal(growth: -4_000) == .underuse)
    }
}

/// Unrequested duplicates: `LossEstimator` and `PacketDuplicationSchedule`.
@Suite struct RepetitionTests {
    private func meter(_ losses: [Bool]) -> LossEstimator {
        var meter = LossEstimator()
        for isLost in losses {
            meter.note(isLost: isLost)
            meter.note(lost: isLost ? 1 : 0, received: isLost ? 0 : 1)
        }
        return meter
    }

    @Test func moreLossIsWorthMoreRepetitions() {
        expect(meter(Array(repeating: false, count: 1_000)).repetitions == 0)
        let some = meter((0..<1_000).map { $0 % 50 == 49 })
        let many = meter((0..<1_000).map { $0 % 10 == 9 })
        expect(abs(some.share - 0.02) < 0.01 && some.repetitions == 1)
        expect(abs(many.share - 0.1) < 0.02 && many.repetitions == 2)
    }

    @Test func runsOfLossesAreWorthMoreThanSingleOnes() {
        expect(meter((0..<1_000).map { $0 % 100 >= 95 }).repetitions == 3)
        expect(meter((0..<1_000).map { $0 % 20 == 19 }).repetitions == 1)
    }

    @Test func lossIsForgotten() {
        var meter = meter((0..<200).map { $0 % 10 == 9 })
        meter.note(lost: 0, received: 5_000)
        expect(meter.repetitions == 0)
    }

    @Test func nonsenseChangesNothing() {
        var meter = LossEstimator()
        meter.note(lost: -5, received: 3)
        meter.note(lost: .max, received: 0)
        expect((0...1).contains(meter.share))
    }

    @Test func repetitionsAreDueOneAfterAnother() {
        var plan = PacketDuplicationSchedule()
        plan.add(7, count: 3, now: .at(0))
        plan.add(8, count: 1, now: .at(5))
        expect(plan.takeDue(now: .at(14)) == nil && plan.deadline == .at(15))
        expect(plan.takeDue(now: .at(15)) == 7 && plan.deadline == .at(20))
        expect(plan.takeDue(now: .at(60)) == 8 && plan.takeDue(now: .at(60)) == 7)
        expect(plan.deadline == .at(80) && plan.takeDue(now: .at(100)) == 7)
        expect(plan.takeDue(now: .at(1_000)) == nil && plan.deadline == .distantFuture)
    }

    @Test func whatDoesNotFitIsNotRepeated() {
        var plan = PacketDuplicationSchedule()
        for sequence in 0..<1_000 { plan.add(Int64(sequence), count: 1, now: .at(0)) }
        var taken = 0
        while plan.takeDue(now: .at(15)) != nil { taken += 1 }
        expect(taken == 256)
    }
}
