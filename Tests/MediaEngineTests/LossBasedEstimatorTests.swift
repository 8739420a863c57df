import MediaCore
import Testing

@testable import MediaEngine

@Suite struct LossBasedEstimatorTests {
    private func verdict(_ limit: inout LossBasedEstimator, at milliseconds: Int, lost: Int, isAnswered: Bool)
        -> LossBasedEstimator.Verdict
    {
        limit.note(lost: lost, received: 100 - lost)
        return limit.update(
            now: .at(milliseconds), roundTrip: .milliseconds(50), current: .kilobits(2_000), maximum: .kilobits(8_000),
            least: nil, isOurs: true, hasQueue: true, isAnswered: isAnswered)
    }

    @Test func oneLossDecreasesTheRateOnce() {
        var limit = LossBasedEstimator()
        expect(verdict(&limit, at: 0, lost: 0, isAnswered: false) == .none)
        expect(verdict(&limit, at: 300, lost: 30, isAnswered: true) == .high)
        #expect(limit.rate == nil)
        expect(verdict(&limit, at: 600, lost: 30, isAnswered: false) == .high)
        #expect(limit.rate == .kilobits(1_700))
    }
}
