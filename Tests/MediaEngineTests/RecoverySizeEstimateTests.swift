import Testing

@testable import MediaEngine

@Suite struct RecoverySizeEstimateTests {
    @Test func itIsThatOfTheLargestFrameOfASecond() {
        var estimate = RecoverySizeEstimate()
        estimate.note(5_000, isRepetitive: false, now: .at(0))
        #expect(estimate.bytes == nil)
        estimate.note(9_000, isRepetitive: true, now: .at(100))
        estimate.note(4_000, isRepetitive: true, now: .at(200))
        #expect(estimate.bytes == 9_000)
        estimate.note(3_000, isRepetitive: true, now: .at(1_101))
        #expect(estimate.bytes == 3_000)
    }

    @Test func itIsUnknownASecondAfterTheLastRepetition() {
        var estimate = RecoverySizeEstimate()
        estimate.note(9_000, isRepetitive: true, now: .at(0))
        estimate.note(20_000, isRepetitive: false, now: .at(999))
        #expect(estimate.bytes == 20_000)
        estimate.note(2_000, isRepetitive: false, now: .at(1_000))
        #expect(estimate.bytes == nil)
    }
}
