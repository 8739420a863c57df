import MediaCore
import PeerEngine
import Testing

/// Which inputs of the viewer that controls are still meant.
@Suite struct ControlStateTests {
    private let ann: [UInt8] = [1], bob: [UInt8] = [2]

    private func at(milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds)
    }

    private func input(
        _ count: Int, grant: Int = 1, time: Int64, _ input: ControlInput? = .key(keysym: 0x61, isPressed: true)
    ) -> AimedInput {
        AimedInput(grant: grant, count: count, time: time, frame: nil, input: input)
    }

    /// With a permission for Ann.
    private func granted() -> ControlState {
        var state = ControlState()
        state.begin(ann, now: at(milliseconds: 0))
        return state
    }

    @Test func onlyItsViewerWithItsNumberControls() {
        var state = granted()
        let press = ControlInput.key(keysym: 0x61, isPressed: true)
        #expect(state.number(of: ann) == 1 && state.number(of: bob) == nil)
        let now = at(milliseconds: 10)
        #expect(state.take(input(1, time: 0), from: bob, isOutdated: false, now: now) == .dropped(.notGranted))
        #expect(
            state.take(input(1, grant: 0, time: 0), from: ann, isOutdated: false, now: now) == .dropped(.notGranted))
        #expect(state.take(input(1, time: 0), from: ann, isOutdated: false, now: now) == .pass(press))
        // The next permission has another number, and what is under way for the old one is void.
        state.end()
        #expect(state.take(input(2, time: 1), from: ann, isOutdated: false, now: now) == .dropped(.notGranted))
        state.begin(ann, now: now)
        #expect(state.number(of: ann) == 2)
        #expect(state.take(input(2, time: 1), from: ann, isOutdated: false, now: now) == .dropped(.notGranted))
        #expect(state.take(input(1, grant: 2, time: 1), from: ann, isOutdated: false, now: now) == .pass(press))
    }

    @Test func whatComesTwiceIsDropped() {
        var state = granted()
        let now = at(milliseconds: 10)
        let verdicts = [5, 5, 4, 6].map { state.take(input($0, time: 0), from: ann, isOutdated: false, now: now) }
        #expect(verdicts.map { $0 == .dropped(.repeated) } == [false, true, true, false])
        #expect(state.use.passed == 2 && state.use.dropped == 2)
    }

    @Test func whatComesLateIsDroppedUnlessItReleases() {
        var state = granted()
        // The viewer's clock is 5 s ahead, and the way takes 100 ms.
        func take(_ count: Int, sent: Int, arrives: Int, _ what: ControlInput) -> ControlState.Verdict {
            state.take(
                input(count, time: Int64(sent + 5_000), what), from: ann, isOutdated: false,
                now: at(milliseconds: arrives))
        }
        let press = ControlInput.key(keysym: 0x61, isPressed: true)
        let release = ControlInput.key(keysym: 0x61, isPressed: false)
        #expect(take(1, sent: 0, arrives: 100, press) == .pass(press))
        #expect(take(2, sent: 1_000, arrives: 1_590, press) == .pass(press))
        #expect(take(3, sent: 2_000, arrives: 2_610, press) == .dropped(.late))
        #expect(take(4, sent: 2_000, arrives: 2_610, release) == .pass(release))
        let click = ControlInput.button(1, isPressed: true)
        #expect(take(5, sent: 3_000, arrives: 3_100, click) == .pass(click))
        // A clock that is slower by 0.03 % makes no input late.
        for minute in 1...30 {
            let verdict = take(
                5 + minute, sent: 3_000 + minute * 59_982, arrives: 3_100 + minute * 60_000, click)
            #expect(verdict == .pass(click), "minute \(minute)")
        }
    }

    @Test func whatIsAimedAtAnOldFrameIsDropped() {
        var state = granted()
        let press = input(1, time: 0, .button(1, isPressed: true))
        #expect(
            state.take(press, from: ann, isOutdated: true, now: at(milliseconds: 10)) == .dropped(.outdated))
        let release = input(2, time: 0, .button(1, isPressed: false))
        #expect(
            state.take(release, from: ann, isOutdated: true, now: at(milliseconds: 10))
                == .pass(.button(1, isPressed: false)))
    }

    @Test func nothingPassesWhileAQuestionIsOpen() {
        var state = granted()
        state.isHeld = true
        for (count, isPressed) in [(1, true), (2, false)] {
            let verdict = state.take(
                input(count, time: 0, .key(keysym: 0x79, isPressed: isPressed)), from: ann, isOutdated: false,
                now: at(milliseconds: 10))
            #expect(verdict == .dropped(.held))
        }
        state.isHeld = false
        let key = ControlInput.key(keysym: 0x79, isPressed: true)
        #expect(
            state.take(input(3, time: 1, key), from: ann, isOutdated: false, now: at(milliseconds: 11)) == .pass(key))
    }

    @Test func aFloodIsCutOff() {
        var state = granted()
        let passed = (1...10_000).count { count in
            let verdict = state.take(
                input(count, time: 0, .wheel(horizontal: 0, vertical: 1)), from: ann, isOutdated: false,
                now: at(milliseconds: count / 10))
            return verdict != .dropped(.tooMany)
        }
        #expect((500...502).contains(passed), "\(passed) in a second")
        // What is pressed does not stay so.
        let (now, release) = (at(milliseconds: 1_000), ControlInput.key(keysym: 0x61, isPressed: false))
        #expect(state.take(input(10_001, time: 0), from: ann, isOutdated: false, now: now) == .dropped(.tooMany))
        #expect(
            state.take(input(10_002, time: 0, release), from: ann, isOutdated: false, now: now) == .pass(release))
    }

    @Test func whoIsSilentReleasesEverythingAndThenLosesIt() {
        var state = granted()
        #expect(state.take(input(1, time: 0), from: ann, isOutdated: false, now: at(milliseconds: 100)) != .nothing)
        #expect(state.silence(now: at(milliseconds: 1_099)) == nil)
        #expect(state.silence(now: at(milliseconds: 1_100)) == .release)
        #expect(state.silence(now: at(milliseconds: 1_200)) == nil, "it is released once")
        // It is heard again.
        #expect(
            state.take(input(2, time: 1_200, nil), from: ann, isOutdated: false, now: at(milliseconds: 1_300))
                == .nothing)
        #expect(state.silence(now: at(milliseconds: 2_299)) == nil)
        #expect(state.silence(now: at(milliseconds: 2_300)) == .release)
        #expect(state.silence(now: at(milliseconds: 3_800)) == .end(ann))
    }
}
