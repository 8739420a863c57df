import MediaCore
import Testing

struct AudioLevelMeterTests {
    private func level(of samples: [Int16], after milliseconds: Int64 = 0) -> Double? {
        var meter = AudioLevelMeter()
        samples.withUnsafeBufferPointer { meter.add($0, at: MediaInstant(nanoseconds: 0)) }
        return meter.decibels(at: MediaInstant(nanoseconds: milliseconds * 1_000_000))
    }

    @Test(arguments: [(Int16(32_767), 0.0), (16_384, -6.02), (3_277, -20.0), (328, -39.99), (33, -59.94)])
    func squareWaveHasTheLevelOfItsAmplitude(_ amplitude: Int16, _ decibels: Double) throws {
        let level = try #require(self.level(of: (0..<960).map { $0 % 2 == 0 ? amplitude : -amplitude }))
        #expect(abs(level - decibels) < 0.05, "\(level)")
    }

    @Test func silenceHasNoLevel() {
        #expect(level(of: [Int16](repeating: 0, count: 960)) == nil)
        #expect(level(of: []) == nil)
        #expect(AudioLevelMeter().decibels(at: MediaInstant(nanoseconds: 5)) == nil)
    }

    @Test func levelFallsAndIsForgotten() throws {
        let loud = [Int16](repeating: 32_767, count: 960)
        let later = try #require(self.level(of: loud, after: 300))
        #expect(abs(later + 20) < 0.1, "\(later)")
        #expect(level(of: loud, after: 600) == nil)
    }

    @Test func quietPacketAfterALoudOneDoesNotHideIt() throws {
        var meter = AudioLevelMeter()
        for (amplitude, milliseconds) in [(Int16(16_384), Int64(0)), (33, 30)] {
            [Int16](repeating: amplitude, count: 960).withUnsafeBufferPointer {
                meter.add($0, at: MediaInstant(nanoseconds: milliseconds * 1_000_000))
            }
        }
        let level = try #require(meter.decibels(at: MediaInstant(nanoseconds: 30_000_000)))
        #expect(abs(level + 8) < 0.1, "\(level)")
    }

    @Test func resetForgets() {
        var meter = AudioLevelMeter()
        [Int16](repeating: 9_000, count: 960).withUnsafeBufferPointer {
            meter.add($0, at: MediaInstant(nanoseconds: 0))
        }
        meter.reset()
        #expect(meter.decibels(at: MediaInstant(nanoseconds: 0)) == nil)
    }
}
