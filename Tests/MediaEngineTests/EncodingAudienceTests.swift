import MediaCore
import MediaEngine
import Testing

@Suite struct EncodingAudienceTests {
    /// - Parameter viewers: rates in kbit/s, and since when (milliseconds) each has a backlog.
    private func target(
        _ viewers: [(rate: Int, since: Int?)], wasLayered: Bool = false, at milliseconds: Int = 1_000
    ) -> EncodingTarget {
        var load = EncodingAudience()
        for viewer in viewers {
            load.add(
                rate: .kilobits(viewer.rate), isWaiting: false, congestedSince: viewer.since.map { .at($0) })
        }
        return load.target(maximum: .kilobits(20_000), wasLayered: wasLayered, now: .at(milliseconds))
    }

    @Test func oneViewerHasOneLayerAndWaitsForItself() {
        #expect(target([(3_000, nil)]) == EncodingTarget(bitrate: .kilobits(3_000)))
        #expect(target([(3_000, 0)]) == EncodingTarget(bitrate: .kilobits(3_000), isBlocked: true))
    }

    @Test func equalViewersHaveOneLayerAndWaitForEachOtherForAMoment() {
        #expect(target([(3_000, nil), (3_500, nil)]) == EncodingTarget(bitrate: .kilobits(3_000)))
        #expect(target([(3_000, 950), (3_500, nil)]) == EncodingTarget(bitrate: .kilobits(3_000), isBlocked: true))
        let stuck = target([(3_000, 850), (3_500, nil)])
        #expect(!stuck.isBlocked)
        #expect(stuck.layering?.isBaseBlocked == true)
    }

    @Test func differentViewersHaveTwoLayersAndOnlyTheBaseWaits() {
        let free = target([(3_000, nil), (5_000, nil)])
        #expect(
            free
                == EncodingTarget(bitrate: .kilobits(5_000), layering: .init(baseBitrate: .kilobits(3_000))))
        let blocked = target([(3_000, 990), (5_000, nil)])
        #expect(!blocked.isBlocked)
        #expect(blocked.layering?.isBaseBlocked == true)
        // All viewers have a backlog.
        #expect(target([(3_000, 990), (5_000, 990)]).isBlocked)
    }

    @Test func layersGoOnUntilTheDifferenceIsGone() {
        let viewers: [(rate: Int, since: Int?)] = [(3_000, nil), (3_600, nil)]
        #expect(target(viewers).layering == nil)
        #expect(target(viewers, wasLayered: true).layering != nil)
        #expect(target([(3_000, nil), (3_400, nil)], wasLayered: true).layering == nil)
    }

    @Test func viewersThatWaitForAKeyFrameOrAreCutOffDelayNoOther() {
        var load = EncodingAudience()
        load.add(rate: .kilobits(5_000), isWaiting: false, congestedSince: nil)
        load.add(rate: nil, isWaiting: true, congestedSince: .at(0))
        let target = load.target(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000))
        #expect(target == EncodingTarget(bitrate: .kilobits(5_000)))
        load.add(rate: .kilobits(1_000), isWaiting: true, congestedSince: .at(0))
        #expect(
            load.target(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000)).layering?.baseBitrate
                == .kilobits(1_000))
    }

    @Test func noViewersMeanNoLoad() {
        var load = EncodingAudience()
        #expect(load.isEmpty)
        load.add(rate: nil, isWaiting: true, congestedSince: nil)
        #expect(!load.isEmpty)
        #expect(load.target(maximum: .kilobits(800), wasLayered: true, now: .at(0)).bitrate == .kilobits(800))
    }
}
