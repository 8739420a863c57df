import MediaCore
import Testing

@testable import MediaEngine

@Suite struct LipSyncTests {
    @Test func framesAreDelayedOnlyForAudioThatLagsAudibly() {
        var sync = LipSync()
        #expect(sync.hold(captured: .at(0), now: .at(30)) == .zero)
        sync.noteAudio(captured: .at(0), latency: .milliseconds(60), now: .at(30))
        #expect(sync.hold(captured: .at(0), now: .at(30)) == .zero)
        var late = LipSync()
        late.noteAudio(captured: .at(0), latency: .milliseconds(250), now: .at(30))
        let hold = late.hold(captured: .at(0), now: .at(30))
        #expect(abs((hold - .milliseconds(150)).inMilliseconds) < 0.001)
        // Audio that was last heard long ago delays nothing.
        #expect(late.hold(captured: .at(5_000), now: .at(5_030)) == .zero)
    }
}
