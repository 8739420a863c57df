import MediaCore
import Testing

@testable import EventLoop

@Suite struct WakeupModerationTests {
    private static let interval = MediaDuration.microseconds(500)

    private func instant(_ microseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: Int64(microseconds) * 1_000)
    }

    @Test func rareEventsAreHandledWithoutPauses() {
        var moderation = WakeupModeration(interval: Self.interval)
        for time in [0, 400, 800, 5_000] {
            moderation.begin(instant(time), waited: .microseconds(300))
            #expect(moderation.pause == nil)
        }
    }

    @Test func frequentEventsAreHandledAtTheInterval() {
        var moderation = WakeupModeration(interval: Self.interval)
        moderation.begin(instant(0), waited: .milliseconds(1))
        moderation.begin(instant(100), waited: .microseconds(60))
        #expect(moderation.pause == instant(600))
        // Something came meanwhile.
        moderation.begin(instant(601), waited: .microseconds(1))
        #expect(moderation.pause == instant(1_101))
        // Nothing came, and what comes then is handled at once.
        moderation.begin(instant(1_400), waited: .microseconds(299))
        #expect(moderation.pause == nil)
    }

    @Test func aLoopWithoutAnIntervalNeverPauses() {
        var moderation = WakeupModeration()
        for time in 0..<10 {
            moderation.begin(instant(time), waited: .zero)
            #expect(moderation.pause == nil)
        }
    }
}
