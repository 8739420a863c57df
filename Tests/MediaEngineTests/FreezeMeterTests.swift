import MediaCore
import MediaEngine
import Testing

@Suite struct FreezeMeterTests {
    private func started() -> FreezeMeter {
        var meter = FreezeMeter()
        meter.note(change: .at(0), isTaken: true)
        meter.noteFrameSent(hasMore: false, now: .at(1_000))
        return meter
    }

    private func expect(_ meter: FreezeMeter, at time: Int, _ count: Int, _ milliseconds: Int) {
        let figures = meter.figures(now: .at(time))
        #expect(figures.count == count)
        #expect(figures.time == .milliseconds(milliseconds))
    }

    @Test func theWaitForTheFirstFrameIsNoFreeze() {
        var meter = FreezeMeter()
        meter.note(change: .at(0), isTaken: false)
        expect(meter, at: 5_000, 0, 0)
        meter.note(change: .at(0), isTaken: true)
        meter.noteFrameSent(hasMore: false, now: .at(5_000))
        expect(meter, at: 5_000, 0, 0)
    }

    @Test func aStillScreenIsNoFreeze() {
        var meter = started()
        expect(meter, at: 60_000, 0, 0)
        meter.note(change: .at(60_000), isTaken: true)
        meter.noteFrameSent(hasMore: false, now: .at(60_150))
        expect(meter, at: 90_000, 0, 0)
    }

    @Test func aChangeThatWaitsIsAFreezeFromItsDamageOn() {
        var meter = started()
        meter.note(change: .at(2_000), isTaken: true)
        expect(meter, at: 2_150, 0, 0)
        // A freeze counts while it lasts, too.
        expect(meter, at: 2_151, 1, 151)
        meter.noteFrameSent(hasMore: false, now: .at(2_400))
        expect(meter, at: 9_000, 1, 400)
    }

    @Test func aPauseEndsTheWaitAndIsNoFreezeItself() {
        var meter = started()
        meter.note(change: .at(2_000), isTaken: false)
        meter.notePause(now: .at(2_300))
        expect(meter, at: 60_000, 1, 300)
        // A frame that was on its way is dropped during the pause.
        meter.note(change: .at(2_250), isTaken: false)
        meter.noteResumption()
        meter.note(change: .at(60_000), isTaken: true)
        meter.noteFrameSent(hasMore: false, now: .at(60_100))
        expect(meter, at: 90_000, 1, 300)
    }

    @Test func framesThatAreSentSteadilyAreNoFreezeHoweverLongTheirQueue() {
        var meter = started()
        for time in stride(from: 2_000, to: 5_000, by: 100) {
            meter.note(change: .at(time - 500), isTaken: true)
            meter.noteFrameSent(hasMore: true, now: .at(time))
        }
        // The wait for the first of these frames: its change was reported at 1.5 s.
        expect(meter, at: 4_900, 1, 500)
    }

    @Test func changesOfDroppedFramesWaitUntilAFrameIsSent() {
        var meter = started()
        for time in [2_000, 2_100, 2_200] { meter.note(change: .at(time), isTaken: false) }
        // A refinement of older content shows none of these changes.
        meter.noteFrameSent(hasMore: false, now: .at(2_050))
        expect(meter, at: 2_300, 1, 250)
        meter.note(change: .at(2_300), isTaken: true)
        meter.noteFrameSent(hasMore: false, now: .at(2_350))
        expect(meter, at: 9_000, 1, 300)
    }
}
