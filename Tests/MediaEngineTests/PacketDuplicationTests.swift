import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

/// Unrequested duplicates: `LossEstimator` and `PacketDuplicationSchedule`.
@Suite struct PacketDuplicationTests {
    private func meter(_ losses: [Bool]) -> LossEstimator {
        var meter = LossEstimator()
        for isLost in losses {
            meter.note(isLost: isLost)
            meter.note(lost: isLost ? 1 : 0, received: isLost ? 0 : 1)
        }
        return meter
    }

    @Test func moreLossGivesMoreDuplicates() {
        expect(meter(Array(repeating: false, count: 1_000)).duplicateCount == 0)
        let some = meter((0..<1_000).map { $0 % 50 == 49 })
        let many = meter((0..<1_000).map { $0 % 10 == 9 })
        expect(abs(some.share - 0.02) < 0.01 && some.duplicateCount == 1)
        expect(abs(many.share - 0.1) < 0.02 && many.duplicateCount == 2)
    }

    @Test func burstLossGivesMoreDuplicatesThanSingleLosses() {
        expect(meter((0..<1_000).map { $0 % 100 >= 95 }).duplicateCount == 3)
        expect(meter((0..<1_000).map { $0 % 20 == 19 }).duplicateCount == 1)
    }

    @Test func lossIsForgotten() {
        var meter = meter((0..<200).map { $0 % 10 == 9 })
        meter.note(lost: 0, received: 5_000)
        expect(meter.duplicateCount == 0)
    }

    @Test func invalidReportsChangeNothing() {
        var meter = LossEstimator()
        meter.note(lost: -5, received: 3)
        meter.note(lost: .max, received: 0)
        expect((0...1).contains(meter.share))
    }

    @Test func duplicatesAreDueOneAfterAnother() {
        var plan = PacketDuplicationSchedule()
        plan.add(7, count: 3, now: .at(0))
        plan.add(8, count: 1, now: .at(5))
        expect(plan.takeDue(now: .at(14)) == nil && plan.deadline == .at(15))
        expect(plan.takeDue(now: .at(15)) == 7 && plan.deadline == .at(20))
        expect(plan.takeDue(now: .at(60)) == 8 && plan.takeDue(now: .at(60)) == 7)
        expect(plan.deadline == .at(80) && plan.takeDue(now: .at(100)) == 7)
        expect(plan.takeDue(now: .at(1_000)) == nil && plan.deadline == .distantFuture)
    }

    @Test func duplicatesBeyondTheCapacityAreDropped() {
        var plan = PacketDuplicationSchedule()
        for sequence in 0..<1_000 { plan.add(Int64(sequence), count: 1, now: .at(0)) }
        var taken = 0
        while plan.takeDue(now: .at(15)) != nil { taken += 1 }
        expect(taken == 256)
    }
}
