import MediaCore
import MediaEngine
import Testing

@Suite struct LayerMeterTests {
    @Test func aLayerCountsWhatIsBelowIt() {
        var meter = LayerMeter()
        #expect(meter.count(now: .at(0)) == 0)
        for frame in 0..<40 {
            // Two packets each.
            meter.note(bytes: 500, layer: UInt8(frame % 2), isFrameStart: true, now: .at(frame * 25))
            meter.note(bytes: 500, layer: UInt8(frame % 2), isFrameStart: false, now: .at(frame * 25))
        }
        #expect(meter.count(now: .at(975)) == 2)
        let layers = meter.layers(count: 2, now: .at(975))
        #expect(layers.map(\.temporalLayer) == [0, 1])
        #expect(layers.map(\.bitrate.bitsPerSecond) == [160_000, 320_000])
        #expect(meter.baseBitrate(now: .at(975)).bitsPerSecond == 160_000)
    }

    /// A still screen has few frames, and its layers do not come and go with them; nor where one layer is rare.
    @Test func aLayerHasEndedWhenManyFramesAndSecondsAreWithoutIt() {
        var meter = LayerMeter()
        meter.note(bytes: 500, layer: 0, isFrameStart: true, now: .at(0))
        meter.note(bytes: 500, layer: 2, isFrameStart: true, now: .at(20))
        #expect(meter.count(now: .at(20)) == 3)
        for frame in 1...15 { meter.note(bytes: 500, layer: 0, isFrameStart: true, now: .at(frame * 5_000)) }
        #expect(meter.count(now: .at(75_000)) == 3)
        meter.note(bytes: 500, layer: 0, isFrameStart: true, now: .at(80_000))
        #expect(meter.count(now: .at(80_000)) == 1)
        meter.note(bytes: 500, layer: 1, isFrameStart: true, now: .at(80_020))
        for frame in 1..<149 { meter.note(bytes: 500, layer: 0, isFrameStart: true, now: .at(80_020 + frame * 33)) }
        #expect(meter.count(now: .at(85_000)) == 2)
        #expect(meter.count(now: .at(85_021)) == 1)
    }
}
