import Testing

@testable import MediaEngine

@Suite struct RecoverySizeEstimateTests {
    @Test func itIsKnownForASecond() {
        var estimate = RecoverySizeEstimate()
        #expect(estimate.bytes(now: .at(0)) == nil)
        estimate.note(9_000, now: .at(0))
        #expect(estimate.bytes(now: .at(999)) == 9_000)
        #expect(estimate.bytes(now: .at(1_000)) == nil)
    }

    @Test func aFrameWithoutOneMakesItUnknown() {
        var estimate = RecoverySizeEstimate()
        estimate.note(9_000, now: .at(0))
        estimate.note(nil, now: .at(100))
        #expect(estimate.bytes(now: .at(100)) == nil)
    }

    @Test func aSlowRepairIsLookedForEvery20Milliseconds() {
        var estimate = RecoverySizeEstimate()
        #expect(estimate.isRepairSlow(now: .at(0)) == nil)
        estimate.noteRepair(isSlow: true, now: .at(0))
        #expect(estimate.isRepairSlow(now: .at(19)) == true)
        #expect(estimate.isRepairSlow(now: .at(20)) == nil)
    }
}
