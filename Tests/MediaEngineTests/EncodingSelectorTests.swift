import MediaCore
import MediaEngine
import Testing

@Suite struct EncodingSelectorTests {
    private let fast = Bitrate.kilobits(10_000)

    /// - Returns: the seconds after which the target changed.
    private func moves(
        _ plan: inout EncodingSelector, _ rate: Int, mainBitrate: Int, from start: Int = 0, seconds: Int,
        isCutOff: Bool = false
    ) -> [Double] {
        (0...(seconds * 5)).compactMap { step in
            let now = MediaInstant.at(start * 1_000 + step * 200)
            let moved = plan.update(
                rate: .kilobits(rate), fastest: fast, mainBitrate: .kilobits(mainBitrate), isCutOff: isCutOff, now: now)
            return moved ? Double(step) / 5 : nil
        }
    }

    @Test func aDifferenceOfMoreThanThreeTimesTakesASecondEncodingAfterThreeSeconds() {
        var plan = EncodingSelector()
        expect(moves(&plan, 3_000, mainBitrate: 3_000, seconds: 20) == [3])
        #expect(plan.target == .low)
        #expect(plan.encoding == .main)
    }

    @Test(arguments: [(3_400, 8_000), (5_000, 8_000), (10_000, 8_000), (1_000, 500), (300, 100)])
    func aSmallerDifferenceOrALowBitrateTakesNoSecondEncoding(rate: Int, mainBitrate: Int) {
        var plan = EncodingSelector()
        expect(moves(&plan, rate, mainBitrate: mainBitrate, seconds: 60) == [])
    }

    @Test func aShortDifferenceTakesNoSecondEncoding() {
        var plan = EncodingSelector()
        for burst in 0..<20 {
            expect(moves(&plan, 1_000, mainBitrate: 9_000, from: burst * 4, seconds: 2) == [])
            expect(moves(&plan, 4_000, mainBitrate: 9_000, from: burst * 4 + 3, seconds: 0) == [])
        }
    }

    /// Otherwise the slow viewer would delay each change.
    @Test func anOftenStillScreenTakesASecondEncodingInTime() {
        var plan = EncodingSelector()
        var moved: Int?
        for burst in 0..<20 where moved == nil {
            if !moves(&plan, 100, mainBitrate: 100, from: burst * 3, seconds: 1).isEmpty { moved = burst }
            _ = moves(&plan, 100, mainBitrate: 30, from: burst * 3 + 2, seconds: 0)
        }
        #expect(moved == 3)
        // Not if the screen changes once a minute.
        var other = EncodingSelector()
        for burst in 0..<20 {
            expect(moves(&other, 100, mainBitrate: 100, from: burst * 60, seconds: 1) == [])
            _ = moves(&other, 100, mainBitrate: 30, from: burst * 60 + 30, seconds: 0)
        }
    }

    /// The viewer is slow whenever it gets the main encoding, and fast whenever it does not.
    @Test func aViewerThatSwitchesOftenReturnsLaterAndLeavesSooner() {
        var plan = EncodingSelector()
        var time = 0
        var spells: [Double] = []
        for _ in 0..<5 {
            for rate in [1_000, 9_000] {
                let start = time
                while !plan.update(
                    rate: .kilobits(rate), fastest: fast, mainBitrate: .kilobits(9_000), now: .at(time))
                { time += 100 }
                spells.append(Double(time - start) / 1_000)
            }
        }
        #expect(spells == [3, 5, 3, 10, 1.5, 20, 0.8, 40, 0.4, 40])
        // After a minute with the main encoding the relapses are forgotten.
        _ = moves(&plan, 9_000, mainBitrate: 9_000, from: time / 1_000 + 1, seconds: 60)
        let again = moves(&plan, 1_000, mainBitrate: 9_000, from: time / 1_000 + 62, seconds: 4)
        #expect(again == [3])
        expect(moves(&plan, 9_000, mainBitrate: 9_000, from: time / 1_000 + 70, seconds: 10) == [5])
    }

    @Test func aCutOffViewerSwitchesAtOnce() {
        var plan = EncodingSelector()
        expect(moves(&plan, 1_000, mainBitrate: 2_000, seconds: 5, isCutOff: true) == [0])
    }

    @Test func aViewerSwitchesOnlyWithAKeyFrame() {
        var plan = EncodingSelector()
        expect(plan.noteKeyframe(of: .main))
        expect(!plan.noteKeyframe(of: .low))
        _ = moves(&plan, 1_000, mainBitrate: 9_000, seconds: 4)
        expect(plan.noteKeyframe(of: .main))
        #expect(plan.encoding == .main)
        expect(plan.noteKeyframe(of: .low))
        #expect(plan.encoding == .low)
        expect(!plan.noteKeyframe(of: .main))
        #expect(plan.encoding == .low)
    }

    @Test func aViewerComesBackWhenItHasRoomForFiveSecondsOrTheOthersTakeLittleForThirty() {
        var low = EncodingSelector()
        _ = moves(&low, 1_000, mainBitrate: 9_000, seconds: 4)
        expect(low.noteKeyframe(of: .low))
        // Between the thresholds nothing changes.
        expect(moves(&low, 4_000, mainBitrate: 9_000, from: 10, seconds: 60) == [])
        var roomy = low
        expect(moves(&roomy, 6_000, mainBitrate: 9_000, from: 100, seconds: 10) == [5])
        #expect(roomy.target == .main)
        expect(moves(&low, 1_000, mainBitrate: 100, from: 100, seconds: 40) == [30])
        #expect(low.encoding == .low)
    }
}
