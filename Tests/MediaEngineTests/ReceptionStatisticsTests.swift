import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct ReceptionStatisticsTests {
    @Test func lossIsCountedAsTheStandardSays() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        expect(statistics.block(ssrc: 1, now: .at(0)) == nil)
        for sequence in 65_530...65_549 where sequence % 4 != 0 {
            statistics.note(Int64(sequence), timestamp: RTPTimestamp(UInt32(sequence)), now: .at(sequence))
        }
        let block = try require(statistics.block(ssrc: 1, now: .at(100)))
        // 65,530 ... 65,549 are 20 packets, five of them lost.
        #expect(
            block.highestSequence == 65_549 && block.cumulativeLost == 5 && block.fractionLost == 64)
        let again = try require(statistics.block(ssrc: 1, now: .at(200)))
        #expect(again.fractionLost == 0 && again.cumulativeLost == 5)
    }

    @Test func evenArrivalsHaveNoJitterAcrossTheWrapOfTimeStamps() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        for step in 0..<100 {
            statistics.note(
                Int64(step), timestamp: RTPTimestamp(UInt32.max - 45_000).advanced(by: step * 900),
                now: .at(step * 10))
        }
        expect(try require(statistics.block(ssrc: 1, now: .at(2_000))).jitter <= 1)
    }

    @Test func theReportAnswersTheLastSenderReport() throws {
        var statistics = ReceptionStatistics(clockRate: 90_000)
        statistics.note(1, timestamp: RTPTimestamp(0), now: .at(0))
        statistics.noteSenderReport(
            NTPTimestamp(seconds: 0x0001_2345, fraction: 0x6789_0000), now: .at(500))
        let block = try require(statistics.block(ssrc: 1, now: .at(1_500)))
        #expect(block.lastSenderReport == 0x2345_6789 && block.delaySinceLastSenderReport == 65_536)
    }
}
