import MediaCore
import Testing

@testable import MediaEngine

@Suite struct TemporalLayerFilterTests {
    private func admits(
        _ filter: inout TemporalLayerFilter, _ layer: UInt8, isKeyframe: Bool = false, bytes: Int = 1_000,
        rate: Int = 4_000,
        base: Int? = 1_000, layerSwitch: LayerSwitch? = nil, isNonReference: Bool = false, at milliseconds: Int
    ) -> Bool {
        filter.admits(
            isKeyframe: isKeyframe, layer: layer, layerSwitch: layerSwitch ?? (layer > 0 ? .own : .none),
            isNonReference: isNonReference, bytes: bytes,
            rate: .kilobits(rate), base: base.map { .kilobits($0) },
            now: .at(milliseconds))
    }

    @Test func noFrameIsSentBeforeAKeyFrame() {
        var filter = TemporalLayerFilter()
        expect(!admits(&filter, 0, at: 0))
        expect(!admits(&filter, 1, at: 1))
        expect(admits(&filter, 0, isKeyframe: true, at: 2))
        expect(admits(&filter, 0, at: 3))
        filter.reset()
        expect(!admits(&filter, 0, at: 4))
    }

    @Test func theBaseIsNeverDroppedAndLayerOneNeedsRoom() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        expect(admits(&filter, 1, at: 10))
        // A backlog in front of the network.
        filter.note(isCongested: true, now: .at(20))
        expect(!admits(&filter, 1, at: 21))
        expect(admits(&filter, 0, at: 22))
        filter.note(isCongested: false, now: .at(30))
        expect(admits(&filter, 1, at: 31))
        // More than the saved credit.
        expect(!admits(&filter, 1, bytes: 200_000, at: 40))
        // A viewer with little more bandwidth than the base layer needs gets only that.
        expect(!admits(&filter, 1, rate: 1_100, base: 1_000, at: 50))
    }

    @Test func layerOneNeverExceedsTheEstimate() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, bytes: 0, at: 0))
        var bytes = 0
        for step in 0..<3_000 {
            let layer: UInt8 = step % 10 == 0 ? 0 : 1
            if admits(&filter, layer, bytes: 3_000, rate: 2_000, base: 1_000, at: step * 10) { bytes += 3_000 }
        }
        #expect(bytes < 30 * 250_000 * 105 / 100)
        #expect(bytes > 30 * 250_000 * 9 / 10)
    }

    @Test func theLayerFollowsTheFramesSentRecently() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        #expect(filter.layer == 0)
        for step in 1..<50 { _ = admits(&filter, 1, bytes: 100, at: step * 50) }
        #expect(filter.layer == 1)
        for step in 50..<100 { _ = admits(&filter, 1, bytes: 100_000, rate: 1_200, at: step * 50) }
        #expect(filter.layer == 0)
    }

    @Test func aViewerGetsNoLayerAboveItsLimit() {
        var filter = TemporalLayerFilter()
        filter.maximumLayer = 1
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        for step in 1..<50 {
            let layer = UInt8(step % 3)
            #expect(admits(&filter, layer, bytes: 100, at: step * 50) == (layer < 2))
        }
        filter.maximumLayer = 0
        for step in 50..<100 { expect(!admits(&filter, 1, bytes: 100, at: step * 50)) }
        #expect(filter.layer == 0)
        filter.maximumLayer = .max
        expect(admits(&filter, 2, bytes: 100, at: 5_000))
    }

    /// VP8: a frame of layer 1 may refer to the one before it, unless its Y bit says that it does not.
    @Test func aFrameIsNotSentWithoutThoseThatItRefersTo() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        expect(admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 10))
        expect(admits(&filter, 2, layerSwitch: LayerSwitch.none, at: 20))
        filter.note(isCongested: true, now: .at(30))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 31))
        filter.note(isCongested: false, now: .at(40))
        expect(!admits(&filter, 2, layerSwitch: LayerSwitch.none, at: 41))
        expect(admits(&filter, 0, layerSwitch: LayerSwitch.none, at: 50))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 60))
        expect(admits(&filter, 1, layerSwitch: .own, at: 70))
        expect(!admits(&filter, 2, layerSwitch: LayerSwitch.none, at: 80))
        expect(admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 90))
        expect(admits(&filter, 2, layerSwitch: .own, at: 100))
    }

    /// A layer between that was left out is not taken up with the one above it.
    @Test func aSwitchToALayerDoesNotAllowThoseBelow() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.note(isCongested: true, now: .at(10))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 11))
        filter.note(isCongested: false, now: .at(20))
        expect(admits(&filter, 2, layerSwitch: .own, at: 30))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 40))
    }

    /// VP8: the N bit says that no other frame refers to this one.
    @Test func aFrameWithoutFollowersMayBeMissing() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.note(isCongested: true, now: .at(10))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, isNonReference: true, at: 11))
        filter.note(isCongested: false, now: .at(20))
        expect(admits(&filter, 1, layerSwitch: LayerSwitch.none, isNonReference: true, at: 21))
    }

    /// A sender that never says where a layer can be taken up again.
    @Test func aLayerThatStaysOutIsWorthAKeyFrame() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.maximumLayer = 0
        for step in 1..<200 { _ = admits(&filter, 1, bytes: 100, layerSwitch: LayerSwitch.none, at: step * 50) }
        expect(!filter.takeLayerKeyframe(now: .at(10_000)))
        filter.maximumLayer = .max
        for step in 200..<299 { _ = admits(&filter, 1, bytes: 100, layerSwitch: LayerSwitch.none, at: step * 50) }
        expect(!filter.takeLayerKeyframe(now: .at(14_990)))
        expect(filter.takeLayerKeyframe(now: .at(15_000)))
        expect(!filter.takeLayerKeyframe(now: .at(44_999)))
        expect(filter.takeLayerKeyframe(now: .at(45_000)))
        expect(admits(&filter, 0, isKeyframe: true, at: 45_010))
        expect(admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 45_020))
        expect(!filter.takeLayerKeyframe(now: .at(90_000)))
    }

    /// Layers above it, for which there is no bandwidth or no wish, do not matter.
    @Test func aLayerThatStaysOutIsNoticedBelowOthers() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.note(isCongested: true, now: .at(0))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 1))
        filter.note(isCongested: false, now: .at(2))
        filter.maximumLayer = 1
        for step in 1...101 {
            _ = admits(&filter, 1, bytes: 100, layerSwitch: LayerSwitch.none, at: step * 50)
            _ = admits(&filter, 2, bytes: 100, layerSwitch: LayerSwitch.none, at: step * 50 + 25)
        }
        expect(filter.takeLayerKeyframe(now: .at(5_060)))
    }

    /// VP9: the U bit of a frame allows what follows in higher layers.
    @Test func higherLayersAreTakenUpAfterASwitchingPoint() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.note(isCongested: true, now: .at(10))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 11))
        filter.note(isCongested: false, now: .at(20))
        expect(admits(&filter, 0, layerSwitch: LayerSwitch.none, at: 21))
        expect(!admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 30))
        // A frame that is not sent itself allows nothing.
        expect(!admits(&filter, 1, layerSwitch: .higher, at: 40))
        expect(!admits(&filter, 2, layerSwitch: LayerSwitch.none, at: 50))
        expect(admits(&filter, 0, layerSwitch: .higher, at: 60))
        expect(admits(&filter, 1, layerSwitch: LayerSwitch.none, at: 70))
        expect(admits(&filter, 2, layerSwitch: LayerSwitch.none, at: 80))
    }

    @Test func aCutOffViewerReturnsWhenItsQueueIsEmptyAndEachTimeLater() {
        var filter = TemporalLayerFilter()
        expect(admits(&filter, 0, isKeyframe: true, at: 0))
        filter.note(isCongested: true, now: .at(0))
        filter.cutOff(now: .at(1_000))
        #expect(filter.isCutOff && !filter.isFollowing)
        expect(!admits(&filter, 0, at: 1_010))
        expect(!filter.takeReturn(now: .at(5_000)))
        filter.note(isCongested: false, now: .at(5_000))
        expect(filter.takeReturn(now: .at(5_000)))
        expect(!filter.takeReturn(now: .at(5_001)))
        expect(!admits(&filter, 0, at: 5_010))
        expect(admits(&filter, 0, isKeyframe: true, at: 5_020))
        // After repeated cuts the pause grows up to 8 s.
        var now = 6_000
        for pause in [2, 4, 8, 8] {
            filter.cutOff(now: .at(now))
            expect(!filter.takeReturn(now: .at(now + pause * 1_000 - 1)))
            expect(filter.takeReturn(now: .at(now + pause * 1_000)))
            expect(admits(&filter, 0, isKeyframe: true, at: now + pause * 1_000))
            now += pause * 1_000
        }
        // After 30 s the pause is short again.
        filter.cutOff(now: .at(now + 30_000))
        expect(filter.takeReturn(now: .at(now + 31_000)))
    }
}
