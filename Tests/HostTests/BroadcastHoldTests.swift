import MediaCore
import MediaEngine
import Testing

@testable import Host

@Suite struct BroadcastHoldTests {
    /// `#expect` takes no mutating calls beside others.
    private final class Holder {
        private var state = BroadcastHoldState()
        var broken: Set<EncodingID> { state.broken }
        var holds: Set<BroadcastHold> { state.holds }
        func set(_ hold: BroadcastHold, _ isOn: Bool, now: MediaInstant) -> BroadcastHoldChange? {
            state.set(hold, isOn, now: now)
        }
        func withholds(_ frame: FrameInfo) -> Bool { state.withholds(frame) }
        func withholdsAudio(captured: MediaInstant) -> Bool { state.withholdsAudio(captured: captured) }
    }

    private func at(_ milliseconds: Int64) -> MediaInstant { MediaInstant(nanoseconds: milliseconds * 1_000_000) }

    private func frame(
        _ milliseconds: Int64, isKeyframe: Bool = false, isBlank: Bool = false, _ encoding: EncodingID = .main
    ) -> FrameInfo {
        FrameInfo(
            of: UnsafeRawBufferPointer(start: nil, count: 0), isKeyframe: isKeyframe, encoding: encoding,
            captured: at(milliseconds), isBlank: isBlank)
    }

    @Test func onlyWhatWasCapturedAfterThePauseIsWithheld() {
        let state = Holder()
        #expect(!state.withholds(frame(1)))
        #expect(state.set(.pause, true, now: at(1_000))?.effective == .pause)
        #expect(!state.withholds(frame(999)) && !state.withholdsAudio(captured: at(1_000)))
        let end = state.set(.pause, false, now: at(1_500))
        #expect(end == .init(hold: .pause, duration: .milliseconds(500), effective: nil))
        #expect(state.broken.isEmpty)
        _ = state.set(.pause, true, now: at(2_000))
        #expect(state.withholds(frame(2_001)) && state.withholdsAudio(captured: at(2_001)))
        _ = state.set(.pause, false, now: at(3_000))
        #expect(state.broken == [.main])
        // Nobody could decode what follows the withheld frame.
        #expect(state.withholds(frame(3_001)) && !state.withholds(frame(3_001, .low)))
        #expect(!state.withholds(frame(3_002, isKeyframe: true)) && !state.withholds(frame(3_003)))
        #expect(!state.withholdsAudio(captured: at(3_001)))
    }

    @Test func ofABlankedBroadcastOnlyBlankFramesAreSentAndTheFirstIsAKeyFrame() {
        let state = Holder()
        #expect(state.set(.blank, true, now: at(1_000))?.effective == .blank)
        // Also those that were captured before.
        #expect(state.withholds(frame(990)) && state.withholds(frame(991, isKeyframe: true)))
        #expect(state.withholds(frame(1_001, isBlank: true)))
        #expect(!state.withholds(frame(1_002, isKeyframe: true, isBlank: true)))
        #expect(!state.withholds(frame(1_003, isBlank: true)) && state.withholdsAudio(captured: at(1_003)))
        #expect(state.withholds(frame(1_004)))
        #expect(state.set(.blank, false, now: at(1_010))?.effective == nil)
        #expect(state.broken == [.main])
    }

    @Test func aFrozenPictureStillReachesThoseWhoLackIt() {
        let state = Holder()
        _ = state.set(.freeze, true, now: at(1_000))
        #expect(!state.withholds(frame(1_001)) && !state.withholdsAudio(captured: at(1_001)))
    }

    @Test func eachHoldEndsByItselfAndTheStrictestCounts() {
        let state = Holder()
        #expect(state.set(.pause, false, now: at(1)) == nil)
        #expect(state.set(.freeze, true, now: at(1))?.effective == .freeze)
        #expect(state.set(.pause, true, now: at(2))?.effective == .pause)
        #expect(state.set(.pause, true, now: at(3)) == nil)
        #expect(state.set(.blank, true, now: at(4))?.effective == .blank)
        #expect(
            state.set(.pause, false, now: at(5)) == .init(hold: .pause, duration: .milliseconds(3), effective: .blank))
        #expect(state.withholds(frame(6)) && state.withholdsAudio(captured: at(6)))
        #expect(state.set(.blank, false, now: at(7))?.effective == .freeze)
        #expect(state.set(.freeze, false, now: at(8))?.effective == nil && state.holds.isEmpty)
    }
}
