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
        var load = EncodingLoad()
        load.add(rate: .kilobits(1_000), isWaiting: false, congestedSince: .at(0))
        load.add(rate: .kilobits(500), isWaiting: false, congestedSince: .at(0))
        let target = load.target(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000))
        // Its backlog is that of both: no frame is made for it, and the base layer is not left out alone.
        expect(target.isBlocked && target.bitrate == .kilobits(1_000))
        expect(target.layering == .init(baseBitrate: .kilobits(500)))
    }
}
