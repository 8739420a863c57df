import MediaCore
import Testing

@testable import MediaEngine

@Suite struct KeyframeRequestLimiterTests {
    /// The times, in milliseconds, at which a viewer that asks every 100 ms gets a frame.
    private func granted(
        _ budget: inout KeyframeRequestLimiter, _ frame: KeyframeRequestLimiter.Frame = .key, isShared: Bool = true,
        from start: Int = 0,
        seconds: Int
    ) -> [Int] {
        stride(from: start * 1_000, to: (start + seconds) * 1_000, by: 100).filter {
            budget.allows(frame, isShared: isShared, now: .at($0))
        }
    }

    @Test func repeatedRequestsWaitLongerEachTime() {
        var budget = KeyframeRequestLimiter()
        let times = granted(&budget, seconds: 60)
        #expect(times == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 24_000, 32_000, 40_000, 48_000, 56_000])
    }

    @Test func aKeyFrameEachEightSecondsNeverWaits() {
        var budget = KeyframeRequestLimiter()
        for step in 0..<100 { expect(budget.allows(.key, isShared: true, now: .at(step * 8_000))) }
    }

    @Test func threeLossesInARowAreAnsweredAsBefore() {
        var budget = KeyframeRequestLimiter()
        for time in [0, 1_000, 2_000] { expect(budget.allows(.key, isShared: true, now: .at(time))) }
    }

    @Test func timeWithoutRequestsReducesTheDebt() {
        var budget = KeyframeRequestLimiter()
        _ = granted(&budget, seconds: 60)
        let times = granted(&budget, from: 100, seconds: 10)
        #expect(times == [100_000, 101_000, 102_000, 104_000, 108_000])
    }

    @Test func recoveriesAreCheaper() {
        var budget = KeyframeRequestLimiter()
        let times = granted(&budget, .recovery, seconds: 60)
        // Some in a row for one burst of losses, then one in two seconds.
        #expect(times.prefix(8) == [0, 300, 600, 900, 1_200, 1_500, 1_800, 2_100])
        #expect((28...42).contains(times.count))
    }

    @Test func aFirstFrameThatWasLostIsUrgentSomeTimes() {
        var budget = KeyframeRequestLimiter()
        let times = stride(from: 0, to: 30_000, by: 100).filter {
            budget.allows(.key, isShared: true, hasShownNoFrame: true, now: .at($0))
        }
        #expect(times.prefix(4) == [0, 300, 600, 900])
        // A viewer that never acknowledges a frame.
        #expect((8...24).contains(times.count), "\(times)")
    }

    @Test func aSingleViewerIsNotLimited() {
        var budget = KeyframeRequestLimiter()
        #expect(granted(&budget, isShared: false, seconds: 10).count == 100)
        // The other viewers that join later do not pay for these.
        #expect(granted(&budget, from: 10, seconds: 3) == [10_000, 11_000, 12_000])
    }

    @Test func aStormWakesTheEncoderTenTimesASecondAtMost() {
        var budget = KeyframeRequestLimiter()
        let passed = (0..<10_000).count { budget.allows(.key, isShared: false, now: .at($0)) }
        #expect(passed == 100)
    }
}
