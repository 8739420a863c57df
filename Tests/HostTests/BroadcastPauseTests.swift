import MediaCore
import Testing

@testable import Host

@Suite struct BroadcastPauseTests {
    private func at(_ milliseconds: Int64) -> MediaInstant { MediaInstant(nanoseconds: milliseconds * 1_000_000) }

    @Test func onlyWhatWasCapturedAfterThePauseIsWithheld() {
        var pause = BroadcastPause()
        #expect(pause.withholdsFrame(captured: at(1)) == false)
        #expect(pause.begin(now: at(1_000)) == true)
        #expect(pause.withholdsFrame(captured: at(999)) == false)
        #expect(pause.withholds(captured: at(1_000)) == false)
        #expect(pause.end(now: at(1_500)) == .init(duration: .milliseconds(500), needsKeyframe: false))
        #expect(pause.begin(now: at(2_000)) == true)
        #expect(pause.withholdsFrame(captured: at(2_001)) == true)
        #expect(pause.end(now: at(3_000)) == .init(duration: .seconds(1), needsKeyframe: true))
        #expect(pause.withholds(captured: at(4_000)) == false)
    }

    @Test func aSecondPauseOrResumptionChangesNothing() {
        var pause = BroadcastPause()
        #expect(pause.end(now: at(1)) == nil)
        #expect(pause.begin(now: at(1)) == true)
        let isSecond = pause.begin(now: at(2))
        #expect(!isSecond && pause.since == at(1))
        #expect(pause.end(now: at(3))?.duration == .milliseconds(2))
        #expect(pause.end(now: at(4)) == nil)
    }
}
