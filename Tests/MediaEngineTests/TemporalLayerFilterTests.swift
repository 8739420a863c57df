import MediaCore
import MediaEngine
import Testing

@Suite struct FrameDropperTests {
    private func admits(
        _ dropper: inout TemporalLayerFilter, _ layer: UInt8, isKeyframe: Bool = false, bytes: Int = 1_000, rate: Int = 4_000,
        base: Int? = 1_000, at milliseconds: Int
    ) -> Bool {
        dropper.admits(
            isKeyframe: isKeyframe, layer: layer, bytes: bytes, rate: .kilobits(rate), base: base.map { .kilobits($0) },
            now: .at(milliseconds))
    }

    @Test func noFrameIsSentBeforeAKeyFrame() {
        var dropper = TemporalLayerFilter()
        expect(!admits(&dropper, 0, at: 0))
        expect(!admits(&dropper, 1, at: 1))
        expect(admits(&dropper, 0, isKeyframe: true, at: 2))
        expect(admits(&dropper, 0, at: 3))
        dropper.reset()
        expect(!admits(&dropper, 0, at: 4))
    }

    @Test func theBaseIsNeverDroppedAndLayerOneNeedsRoom() {
        var dropper = TemporalLayerFilter()
        expect(admits(&dropper, 0, isKeyframe: true, at: 0))
        expect(admits(&dropper, 1, at: 10))
        // A backlog in front of the network.
        dropper.note(isCongested: true, now: .at(20))
        expect(!admits(&dropper, 1, at: 21))
        expect(admits(&dropper, 0, at: 22))
        dropper.note(isCongested: false, now: .at(30))
        expect(admits(&dropper, 1, at: 31))
        // More than the saved credit.
        expect(!admits(&dropper, 1, bytes: 200_000, at: 40))
        // A viewer with little more bandwidth than the base layer needs gets only that.
        expect(!admits(&dropper, 1, rate: 1_100, base: 1_000, at: 50))
    }

    @Test func layerOneNeverExceedsTheEstimate() {
        var dropper = TemporalLayerFilter()
        expect(admits(&dropper, 0, isKeyframe: true, bytes: 0, at: 0))
        var bytes = 0
        for step in 0..<3_000 {
            let layer: UInt8 = step % 10 == 0 ? 0 : 1
            if admits(&dropper, layer, bytes: 3_000, rate: 2_000, base: 1_000, at: step * 10) { bytes += 3_000 }
        }
        #expect(bytes < 30 * 250_000 * 105 / 100)
        #expect(bytes > 30 * 250_000 * 9 / 10)
    }

    @Test func theLayerFollowsTheFramesSentRecently() {
        var dropper = TemporalLayerFilter()
        expect(admits(&dropper, 0, isKeyframe: true, at: 0))
        #expect(dropper.layer == 0)
        for step in 1..<50 { _ = admits(&dropper, 1, bytes: 100, at: step * 50) }
        #expect(dropper.layer == 1)
        for step in 50..<100 { _ = admits(&dropper, 1, bytes: 100_000, rate: 1_200, at: step * 50) }
        #expect(dropper.layer == 0)
    }

    @Test func aCutOffViewerReturnsWhenItsQueueIsEmptyAndEachTimeLater() {
        var dropper = TemporalLayerFilter()
        expect(admits(&dropper, 0, isKeyframe: true, at: 0))
        dropper.note(isCongested: true, now: .at(0))
        dropper.cutOff(now: .at(1_000))
        #expect(dropper.isCutOff && !dropper.isFollowing)
        expect(!admits(&dropper, 0, at: 1_010))
        expect(!dropper.takeReturn(now: .at(5_000)))
        dropper.note(isCongested: false, now: .at(5_000))
        expect(dropper.takeReturn(now: .at(5_000)))
        expect(!dropper.takeReturn(now: .at(5_001)))
        expect(!admits(&dropper, 0, at: 5_010))
        expect(admits(&dropper, 0, isKeyframe: true, at: 5_020))
        // After repeated cuts the pause grows up to 8 s.
        var now = 6_000
        for pause in [2, 4, 8, 8] {
            dropper.cutOff(now: .at(now))
            expect(!dropper.takeReturn(now: .at(now + pause * 1_000 - 1)))
            expect(dropper.takeReturn(now: .at(now + pause * 1_000)))
            expect(admits(&dropper, 0, isKeyframe: true, at: now + pause * 1_000))
            now += pause * 1_000
        }
        // After 30 s the pause is short again.
        dropper.cutOff(now: .at(now + 30_000))
        expect(dropper.takeReturn(now: .at(now + 31_000)))
    }
}
