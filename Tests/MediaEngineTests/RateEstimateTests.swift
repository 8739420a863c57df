import MediaCore
import Testing

@testable import MediaEngine

/// The parts of `BandwidthEstimator` and of the round trip time that have no suite of their own.
@Suite struct RateEstimateTests {
    @Test func confirmedRateHalvesEachMinute() {
        var rate = ConfirmedRate(.kilobits(8_000), now: .at(0))
        let minimum = Bitrate.kilobits(100)
        #expect(rate.decayed(now: .at(0), minimum: minimum) == .kilobits(8_000))
        #expect(rate.decayed(now: .at(30_000), minimum: minimum) == .kilobits(6_000))
        #expect(rate.decayed(now: .at(120_000), minimum: minimum) == .kilobits(2_000))
        #expect(rate.decayed(now: .at(100_000_000), minimum: minimum) == minimum)
        rate.confirmAgain(now: .at(120_000))
        #expect(rate.decayed(now: .at(120_000), minimum: minimum) == .kilobits(8_000))
    }

    @Test func queueThatNeverEmptiesIsDrainedForASecond() {
        var drain = StandingQueueController()
        var drained: [Int] = []
        for time in stride(from: 0, through: 40_000, by: 100) {
            drain.update(isEmpty: false, now: .at(time))
            if drain.isActive { drained.append(time) }
        }
        #expect(drained.first == 15_100 && drained[9] == 16_000 && drained[10] == 31_200)
    }

    @Test func emptyQueueIsNotDrained() {
        var drain = StandingQueueController()
        for time in stride(from: 0, through: 40_000, by: 100) {
            drain.update(isEmpty: time % 10_000 == 0, now: .at(time))
            #expect(!drain.isActive)
        }
    }

    @Test func reportsComeBeforeFeedback() {
        var times = RoundTripTimeEstimator()
        #expect(times.time == nil)
        times.noteFeedback(.milliseconds(160))
        times.noteFeedback(.milliseconds(320))
        #expect(times.time == .milliseconds(170))
        times.noteFeedback(.milliseconds(90))
        #expect(times.time == .milliseconds(90), "decreases take effect at once")
        times.noteFeedback(.seconds(11))
        times.noteFeedback(.zero)
        #expect(times.time == .milliseconds(90))
        times.noteReport(.milliseconds(40))
        times.noteReport(.milliseconds(80))
        #expect(times.time == .milliseconds(50) && times.reported == .milliseconds(50))
    }

    @Test func threeUselessRetransmissionsShowThatRTXIsIgnored() {
        var detector = IgnoredRTXDetector()
        let early = (0..<2).map { detector.note(now: .at($0 * 6_000)) }
        let late = (0..<3).map { detector.note(now: .at(20_000 + $0 * 1_000)) }
        #expect(early == [false, false] && late == [false, false, true])
    }
}
