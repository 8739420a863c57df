import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct TrendlineEstimatorTests {
    private func signal(growth microseconds: Int) -> TrendlineEstimator.Signal {
        var trend = TrendlineEstimator()
        for step in 0..<60 {
            trend.note(
                sent: .at(step * 20), arrival: .at(step * 20 + 50) + .microseconds(step * microseconds))
        }
        return trend.signal
    }

    @Test func aGrowingQueueIsOveruse() {
        expect(signal(growth: 0) == .normal)
        expect(signal(growth: 4_000) == .overuse)
        expect(signal(growth: -4_000) == .underuse)
    }
}
