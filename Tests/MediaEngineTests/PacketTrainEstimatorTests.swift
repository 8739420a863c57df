import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

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
    func theNarrowestLinkIsMeasured(kilobits: Int) throws {
        let result = try require(train(kilobits))
        #expect(result.isSaturated)
        #expect((kilobits * 90 / 100...kilobits).contains(result.rate.kilobitsPerSecond))
    }

    @Test func aFewPacketsGiveNoEstimate() { expect(train(1_000, 3) == nil) }

    @Test func theEstimateIsAtMostTheSendingRate() throws {
        let result = try require(train(50_000, 12, lineKilobits: 2_000))
        #expect(!result.isSaturated && result.rate <= .kilobits(2_300))
    }
}
