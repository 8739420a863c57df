import MediaCore
import MediaEngine
import Testing

@Suite struct EncodingSelectorTests {
    private let fast = Bitrate.kilobits(10_000)

    /// - Returns: the seconds after which the target changed.
    private func moves(
        _ plan: inout EncodingSelector, _ rate: Int, demand: Int, from start: Int = 0, seconds: Int,
        isCutOff: Bool = false
    ) -> [Double] {
        (0...(seconds * 5)).compactMap { step in
            let now = MediaInstant.at(start * 1_000 + step * 200)
            let moved = plan.update(
                rate: .kilobits(rate), fastest: fast, demand: .kilobits(demand), isCutOff: isCutOff, now: now)
            return moved ? Double(step) / 5 : nil
        }
    }

    @Test func aDifferenceOfMoreThanThreeTimesTakesASecondEncodingAfterThreeSeconds() {
        var plan = EncodingSelector()
        expect(moves(&plan, 3_000, demand: 3_000, seconds: 20) == [3])
        #expect(plan.target == .low)
        #expect(plan.encoding == .main)
    }

    @Test(arguments: [(3_400, 8_000), (5_000, 8_000), (10_000, 8_000), (1_000, 500), (300, 100)])
    func aSmallerDifferenceOrAPictureThatAsksForLittleDoesNot(rate: Int, demand: Int) {
        var plan = EncodingSelector()
        expect(moves(&plan, rate, demand: demand, seconds: 60) == [])
    }

    @Test func aMomentIsNoReason() {
        var plan = EncodingSelector()
        for burst in 0..<20 {
            expect(moves(&plan, 1_000, demand: 9_000, from: burst * 4, seconds: 2) == [])
            expect(moves(&plan, 4_000, demand: 9_000, from: burst * 4 + 3, seconds: 0) == [])
        }
    }

    /// Otherwise the slow viewer would delay each change.
    @Test func aScreenThatRestsOftenIsReasonEnoughInTime() {
        var plan = EncodingSelector()
        var moved: Int?
        for burst in 0..<20 where moved == nil {
            if !moves(&plan, 100, demand: 100, from: burst * 3, seconds: 1).isEmpty { moved = burst }
            _ = moves(&plan, 100, demand: 30, from: burst * 3 + 2, seconds: 0)
        }
        #expect(moved == 3)
        // Not if the screen changes once a minute.
        var other = EncodingSelector()
        for burst in 0..<20 {
            expect(moves(&other, 100, demand: 100, from: burst * 60, seconds: 1) == [])
            _ = moves(&other, 100, demand: 30, from: burst * 60 + 30, seconds: 0)
        }
    }

    /// The viewer is slow whenever it gets the main encoding, and fast whenever it does not.
    @Test func whoGoesBackAndForthReturnsLaterAndLeavesSooner() {
        var plan = EncodingSelector()
        var time = 0
        var spells: [Double] = []
        for _ in 0..<5 {
            for rate in [1_000, 9_000] {
                let start = time
                while !plan.update(
                    rate: .kilobits(rate), fastest: fast, demand: .kilobits(9_000), now: .at(time))
                { time += 100 }
                spells.append(Double(time - start) / 1_000)
            }
        }
        #expect(spells == [3, 5, 3, 10, 1.5, 20, 0.8, 40, 0.4, 40])
        // After a minute with the main encoding the relapses are forgotten.
        _ = moves(&plan, 9_000, demand: 9_000, from: time / 1_000 + 1, seconds: 60)
        let again = moves(&plan, 1_000, demand: 9_000, from: time / 1_000 + 62, seconds: 4)
        #expect(again == [3])
        expect(moves(&plan, 9_000, demand: 9_000, from: time / 1_000 + 70, seconds: 10) == [5])
    }

    @Test func whoIsCutOffAnywayMovesAtOnce() {
        var plan = EncodingSelector()
        expect(moves(&plan, 1_000, demand: 2_000, seconds: 5, isCutOff: true) == [0])
    }

    @Test func aViewerGoesOverWithAKeyFrameOnly() {
        var plan = EncodingSelector()
        expect(plan.noteKeyframe(of: .main))
        expect(!plan.noteKeyframe(of: .low))
        _ = moves(&plan, 1_000, demand: 9_000, seconds: 4)
        expect(plan.noteKeyframe(of: .main))
        #expect(plan.encoding == .main)
        expect(plan.noteKeyframe(of: .low))
        #expect(plan.encoding == .low)
        expect(!plan.noteKeyframe(of: .main))
        #expect(plan.encoding == .low)
    }

    @Test func aViewerComesBackWhenItHasRoomForFiveSecondsOrTheOthersTakeLittleForThirty() {
        var low = EncodingSelector()
        _ = moves(&low, 1_000, demand: 9_000, seconds: 4)
        expect(low.noteKeyframe(of: .low))
        // Between the thresholds nothing changes.
        expect(moves(&low, 4_000, demand: 9_000, from: 10, seconds: 60) == [])
        var roomy = low
        expect(moves(&roomy, 6_000, demand: 9_000, from: 100, seconds: 10) == [5])
        #expect(roomy.target == .main)
        expect(moves(&low, 1_000, demand: 100, from: 100, seconds: 40) == [30])
        #expect(low.encoding == .low)
    }
}

@Suite struct FrameDropperTests {
    private func admits(
        _ gate: inout FrameDropper, _ layer: UInt8, isKeyframe: Bool = false, bytes: Int = 1_000, rate: Int = 4_000,
        base: Int? = 1_000, at milliseconds: Int
    ) -> Bool {
        gate.admits(
            isKeyframe: isKeyframe, layer: layer, bytes: bytes, rate: .kilobits(rate), base: base.map { .kilobits($0) },
            now: .at(milliseconds))
    }

    @Test func nothingBeforeAKeyFrame() {
        var gate = FrameDropper()
        expect(!admits(&gate, 0, at: 0))
        expect(!admits(&gate, 1, at: 1))
        expect(admits(&gate, 0, isKeyframe: true, at: 2))
        expect(admits(&gate, 0, at: 3))
        gate.reset()
        expect(!admits(&gate, 0, at: 4))
    }

    @Test func theBaseIsNeverSkippedAndLayerOneOnlyWithRoom() {
        var gate = FrameDropper()
        expect(admits(&gate, 0, isKeyframe: true, at: 0))
        expect(admits(&gate, 1, at: 10))
        // A backlog in front of the network.
        gate.note(isCongested: true, now: .at(20))
        expect(!admits(&gate, 1, at: 21))
        expect(admits(&gate, 0, at: 22))
        gate.note(isCongested: false, now: .at(30))
        expect(admits(&gate, 1, at: 31))
        // More than the saved credit.
        expect(!admits(&gate, 1, bytes: 200_000, at: 40))
        // A viewer with little more bandwidth than the base layer needs gets only that.
        expect(!admits(&gate, 1, rate: 1_100, base: 1_000, at: 50))
    }

    @Test func layerOneNeverTakesMoreThanTheLine() {
        var gate = FrameDropper()
        expect(admits(&gate, 0, isKeyframe: true, bytes: 0, at: 0))
        var bytes = 0
        for step in 0..<3_000 {
            let layer: UInt8 = step % 10 == 0 ? 0 : 1
            if admits(&gate, layer, bytes: 3_000, rate: 2_000, base: 1_000, at: step * 10) { bytes += 3_000 }
        }
        #expect(bytes < 30 * 250_000 * 105 / 100)
        #expect(bytes > 30 * 250_000 * 9 / 10)
    }

    @Test func theLayerIsWhatCameThroughLately() {
        var gate = FrameDropper()
        expect(admits(&gate, 0, isKeyframe: true, at: 0))
        #expect(gate.layer == 0)
        for step in 1..<50 { _ = admits(&gate, 1, bytes: 100, at: step * 50) }
        #expect(gate.layer == 1)
        for step in 50..<100 { _ = admits(&gate, 1, bytes: 100_000, rate: 1_200, at: step * 50) }
        #expect(gate.layer == 0)
    }

    @Test func whoIsCutOffReturnsOnceWhenAllHasLeftAndEachTimeLater() {
        var gate = FrameDropper()
        expect(admits(&gate, 0, isKeyframe: true, at: 0))
        gate.note(isCongested: true, now: .at(0))
        gate.cutOff(now: .at(1_000))
        #expect(gate.isCutOff && !gate.isFollowing)
        expect(!admits(&gate, 0, at: 1_010))
        expect(!gate.takeReturn(now: .at(5_000)))
        gate.note(isCongested: false, now: .at(5_000))
        expect(gate.takeReturn(now: .at(5_000)))
        expect(!gate.takeReturn(now: .at(5_001)))
        expect(!admits(&gate, 0, at: 5_010))
        expect(admits(&gate, 0, isKeyframe: true, at: 5_020))
        // After repeated cuts the pause grows up to 8 s.
        var now = 6_000
        for pause in [2, 4, 8, 8] {
            gate.cutOff(now: .at(now))
            expect(!gate.takeReturn(now: .at(now + pause * 1_000 - 1)))
            expect(gate.takeReturn(now: .at(now + pause * 1_000)))
            expect(admits(&gate, 0, isKeyframe: true, at: now + pause * 1_000))
            now += pause * 1_000
        }
        // After 30 s the pause is short again.
        gate.cutOff(now: .at(now + 30_000))
        expect(gate.takeReturn(now: .at(now + 31_000)))
    }
}

@Suite struct EncodingLoadTests {
    /// - Parameter viewers: rates in kbit/s, and since when (milliseconds) each has a backlog.
    private func demand(
        _ viewers: [(rate: Int, since: Int?)], wasLayered: Bool = false, at milliseconds: Int = 1_000
    ) -> EncodingTarget {
        var load = EncodingLoad()
        for viewer in viewers {
            load.add(
                rate: .kilobits(viewer.rate), isWaiting: false, congestedSince: viewer.since.map { .at($0) })
        }
        return load.demand(maximum: .kilobits(20_000), wasLayered: wasLayered, now: .at(milliseconds))
    }

    @Test func oneViewerHasOneLayerAndWaitsForItself() {
        #expect(demand([(3_000, nil)]) == EncodingTarget(bitrate: .kilobits(3_000)))
        #expect(demand([(3_000, 0)]) == EncodingTarget(bitrate: .kilobits(3_000), isBlocked: true))
    }

    @Test func equalViewersHaveOneLayerAndWaitForEachOtherForAMoment() {
        #expect(demand([(3_000, nil), (3_500, nil)]) == EncodingTarget(bitrate: .kilobits(3_000)))
        #expect(demand([(3_000, 950), (3_500, nil)]) == EncodingTarget(bitrate: .kilobits(3_000), isBlocked: true))
        let stuck = demand([(3_000, 850), (3_500, nil)])
        #expect(!stuck.isBlocked)
        #expect(stuck.layering?.isBaseBlocked == true)
    }

    @Test func differentViewersHaveTwoLayersAndOnlyTheBaseWaits() {
        let free = demand([(3_000, nil), (5_000, nil)])
        #expect(
            free
                == EncodingTarget(bitrate: .kilobits(5_000), layering: .init(baseBitrate: .kilobits(3_000))))
        let blocked = demand([(3_000, 990), (5_000, nil)])
        #expect(!blocked.isBlocked)
        #expect(blocked.layering?.isBaseBlocked == true)
        // All viewers have a backlog.
        #expect(demand([(3_000, 990), (5_000, 990)]).isBlocked)
    }

    @Test func layersGoOnUntilTheDifferenceIsGone() {
        let viewers: [(rate: Int, since: Int?)] = [(3_000, nil), (3_600, nil)]
        #expect(demand(viewers).layering == nil)
        #expect(demand(viewers, wasLayered: true).layering != nil)
        #expect(demand([(3_000, nil), (3_400, nil)], wasLayered: true).layering == nil)
    }

    @Test func whoWaitsForAKeyFrameBlocksNobodyAndWhoIsCutOffSlowsNobody() {
        var load = EncodingLoad()
        load.add(rate: .kilobits(5_000), isWaiting: false, congestedSince: nil)
        load.add(rate: nil, isWaiting: true, congestedSince: .at(0))
        let demand = load.demand(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000))
        #expect(demand == EncodingTarget(bitrate: .kilobits(5_000)))
        load.add(rate: .kilobits(1_000), isWaiting: true, congestedSince: .at(0))
        #expect(
            load.demand(maximum: .kilobits(20_000), wasLayered: false, now: .at(5_000)).layering?.baseBitrate
                == .kilobits(1_000))
    }

    @Test func nobodyIsNoLoad() {
        var load = EncodingLoad()
        #expect(load.isEmpty)
        load.add(rate: nil, isWaiting: true, congestedSince: nil)
        #expect(!load.isEmpty)
        #expect(load.demand(maximum: .kilobits(800), wasLayered: true, now: .at(0)).bitrate == .kilobits(800))
    }
}
