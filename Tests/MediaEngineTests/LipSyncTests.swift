import MediaCore
import RTPWire
import Testing

@testable import MediaEngine

@Suite struct LipSyncTests {
    private let epoch = NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0)

    private func ntp(_ milliseconds: Int) -> NTPTimestamp {
        epoch.advanced(by: .milliseconds(milliseconds))
    }

    @Test func framesAreDelayedOnlyForAudioThatLagsAudibly() {
        var sync = LipSync()
        #expect(sync.hold(captured: ntp(0), local: ntp(30), now: .at(30)) == .zero)
        sync.noteAudio(captured: ntp(0), local: ntp(30), latency: .milliseconds(60), now: .at(30))
        #expect(sync.hold(captured: ntp(0), local: ntp(30), now: .at(30)) == .zero)
        var late = LipSync()
        late.noteAudio(captured: ntp(0), local: ntp(30), latency: .milliseconds(250), now: .at(30))
        let hold = late.hold(captured: ntp(0), local: ntp(30), now: .at(30))
        #expect(abs((hold - .milliseconds(150)).inMilliseconds) < 0.001)
        // Audio that was last heard long ago delays nothing.
        #expect(late.hold(captured: ntp(5_000), local: ntp(5_030), now: .at(5_030)) == .zero)
    }
}
