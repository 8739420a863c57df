import MediaCore
import Testing

@testable import Host

/// Which encrypted frames viewers at relays still see.
@Suite struct ShownFramesTests {
    private let start = MediaInstant(nanoseconds: 5_000_000_000)

    private func frame(_ counter: UInt64, keyID: UInt16 = 1) -> SealedFrameID {
        SealedFrameID(keyID: keyID, counter: counter)
    }

    @Test func aFrameIsOutdatedASecondAfterTheNextOne() {
        var shown = ShownSealedFrames()
        shown.note(frame(0), now: start)
        // However long it is shown.
        #expect(!shown.isOutdated(frame(0), now: start + .seconds(60)))
        shown.note(frame(1), now: start + .seconds(60))
        #expect(!shown.isOutdated(frame(0), now: start + .milliseconds(60_900)))
        #expect(shown.isOutdated(frame(0), now: start + .milliseconds(61_100)))
        #expect(!shown.isOutdated(frame(1), now: start + .seconds(90)))
    }

    @Test func framesThatWereNeverSentAreOutdated() {
        var shown = ShownSealedFrames()
        #expect(shown.isOutdated(frame(0), now: start))
        shown.note(frame(7), now: start)
        for other in [frame(6), frame(8), frame(7, keyID: 2)] { #expect(shown.isOutdated(other, now: start)) }
    }

    @Test func manyFramesASecondAreForgottenInTime() {
        var shown = ShownSealedFrames()
        for number in 0..<1_000 { shown.note(frame(UInt64(number)), now: start + .milliseconds(number * 10)) }
        let now = start + .milliseconds(9_990)
        #expect(shown.isOutdated(frame(800), now: now))
        #expect(!shown.isOutdated(frame(950), now: now) && !shown.isOutdated(frame(999), now: now))
    }
}
