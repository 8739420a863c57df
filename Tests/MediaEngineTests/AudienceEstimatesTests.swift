import MediaCore
import Testing

@testable import MediaEngine

@Suite struct AudienceEstimatesTests {
    private func slowest(_ kilobits: [Int]) -> Int? {
        AudienceEstimates(kilobits.map { .kilobits($0) })?.slowest.kilobitsPerSecond
    }

    @Test func viewersUnderAThirdOfTheFastestDoNotCount() {
        expect(slowest([]) == nil)
        expect(slowest([900]) == 900)
        expect(slowest([900, 300, 600]) == 300)
        expect(slowest([299, 900, 600]) == 600)
        expect(slowest([1, 900]) == 900)
        expect(slowest([0, 0]) == 0)
    }

    /// What a relay tells of its viewers is no reason to send more, and counts like a viewer.
    @Test func slowViewersOfOtherRelaysCount() {
        func estimates(_ own: [Int], _ behind: [Int]) -> [Int]? {
            AudienceEstimates(own.map { .kilobits($0) }, behind: behind.map { .kilobits($0) })
                .map { [$0.fastest.kilobitsPerSecond, $0.slowest.kilobitsPerSecond] }
        }
        expect(estimates([], [500]) == nil)
        expect(estimates([900], []) == [900, 900])
        expect(estimates([900], [500, 700]) == [900, 500])
        expect(estimates([900, 400], [500]) == [900, 400])
        expect(estimates([900], [299]) == [900, 900], "under a third")
        expect(estimates([900, 800], [299, 2_000]) == [900, 800])
        expect(estimates([900], [2_000]) == [900, 900])
    }

    @Test func aReportHoldsUntilTheNextOneAndForTenSeconds() {
        var reports = SlowestBitrateReports()
        func known(at milliseconds: Int) -> [Int] {
            reports.bitrates(now: .at(milliseconds)).map(\.kilobitsPerSecond).sorted()
        }
        expect(known(at: 0) == [])
        reports.note(.kilobits(500), from: "b", now: .at(0))
        reports.note(.kilobits(700), from: "c", now: .at(4_000))
        expect(known(at: 9_999) == [500, 700])
        expect(known(at: 10_000) == [700])
        reports.note(.kilobits(600), from: "c", now: .at(12_000))
        reports.note(.kilobits(800), from: "d", now: .at(12_000))
        expect(known(at: 21_999) == [600, 800])
        reports.keep(["d", "e"])
        expect(known(at: 21_999) == [800])
        reports.note(nil, from: "d", now: .at(21_999))
        expect(known(at: 21_999) == [])
    }

    @Test func reportsOfNoMoreThan64RelaysAreKept() {
        var reports = SlowestBitrateReports()
        for number in 0..<100 { reports.note(.kilobits(500 + number), from: "\(number)", now: .at(0)) }
        reports.note(.kilobits(400), from: "0", now: .at(1))
        reports.note(.kilobits(-1), from: "1", now: .at(1))
        let known = reports.bitrates(now: .at(2)).map(\.kilobitsPerSecond)
        expect(known.count == 63 && known.min() == 400 && known.max() == 563)
        for number in 100..<200 { reports.note(.kilobits(600), from: "\(number)", now: .at(20_000)) }
        expect(reports.bitrates(now: .at(20_000)).count == 64, "those that have expired leave room")
    }

    @Test func thePublisherCountsTheSlowestWithTheSameAudioButNeverUnderAThird() {
        func video(_ slowest: Int?, estimate: Int = 1_000, video: Int = 900) -> Int? {
            AudienceEstimates.video(
                ofSlowest: slowest.map { .kilobits($0) }, estimate: .kilobits(estimate), video: .kilobits(video))?
                .kilobitsPerSecond
        }
        expect(video(nil) == nil)
        expect(video(1_000) == nil && video(5_000) == nil, "its own network is slower")
        // 85 % of it.
        expect(video(900) == 672)
        expect(video(500) == 342)
        for hostile in [1, 0, -1] { expect(video(hostile) == 300) }
        expect(
            AudienceEstimates.video(
                ofSlowest: Bitrate(bitsPerSecond: .min), estimate: .kilobits(1_000), video: .kilobits(900))
                == .kilobits(300))
        expect(video(1, estimate: 0, video: 0) == nil)
    }

    @Test func changesAreReportedAtMostOnceASecond() {
        var reporter = SlowestBitrateReporter()
        func update(_ kilobits: [Int], at milliseconds: Int) -> Bool {
            reporter.update(AudienceEstimates(kilobits.map { .kilobits($0) }), now: .at(milliseconds))
        }
        expect(!update([], at: 0))
        expect(!update([1_000, 900], at: 250), "the difference is too small for layers")
        expect(update([1_000, 500], at: 500) && reporter.reported == .kilobits(500))
        expect(!update([1_000, 400], at: 1_250))
        expect(update([1_000, 400], at: 1_500) && reporter.reported == .kilobits(400))
        expect(!update([1_000, 410], at: 2_750), "a small change")
        expect(update([1_000], at: 3_000) && reporter.reported == nil)
        expect(!update([1_000], at: 9_000))
    }

    @Test func aPublisherThatCameLaterLearnsItWithinFiveSeconds() {
        var reporter = SlowestBitrateReporter()
        let estimates = AudienceEstimates([.kilobits(1_000), .kilobits(500)])
        let times = stride(from: 0, through: 20_000, by: 250).filter { reporter.update(estimates, now: .at($0)) }
        expect(times == [0, 5_000, 10_000, 15_000, 20_000])
    }

    @Test func aRelayOfUnequalViewersHasTwoLayers() {
        var load = EncodingAudience()
        load.add(rate: .kilobits(1_000), isWaiting: false, congestedSince: .at(0))
        load.add(rate: .kilobits(500), isWaiting: false, congestedSince: .at(0))
        let target = load.target(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000))
        // Its backlog is that of both: no frame is made for it, and the base layer is not left out alone.
        expect(target.isBlocked && target.bitrate == .kilobits(1_000))
        expect(target.layering == .init(baseBitrate: .kilobits(500)))
    }
}
