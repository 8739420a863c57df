import MediaCore
import Testing

@testable import PeerEngine

/// Who may say what, how often, and what the host's user is asked.
@Suite struct ViewerMessageStateTests {
    private let ann: [UInt8] = [1], bob: [UInt8] = [2]

    private func at(_ seconds: Double) -> MediaInstant { MediaInstant(nanoseconds: Int64(seconds * 1e9)) }

    private func state(_ comment: RightState) -> ViewerMessageState {
        ViewerMessageState(defaults: ViewerRights(comment: comment, point: .no, control: .no), now: at(0))
    }

    @Test func aCommentNeedsTheRight() throws {
        var state = state(.ask)
        #expect(
            state.take(.comment("Hello"), from: ann, named: "Ann", now: at(0)) == .refused(.notAllowed(.comment)))
        #expect(state.take(.ask(.control), from: ann, named: "Ann", now: at(0)) == .refused(.notAllowed(.control)))
        guard case .question(let question) = state.take(.ask(.comment), from: ann, named: "Ann", now: at(0)) else {
            Issue.record("nobody is asked")
            return
        }
        // While it waits, and by another viewer.
        #expect(state.take(.ask(.comment), from: ann, named: "Ann", now: at(1)) == .nothing)
        #expect(
            state.take(.comment("Hello"), from: ann, named: "Ann", now: at(1)) == .refused(.notAllowed(.comment)))
        #expect(state.answer(question, true, now: at(2))?.comment == .yes)
        let comment = try #require(BroadcastComment(from: "Ann", "Hello"))
        #expect(state.take(.comment("Hello\n"), from: ann, named: "Ann", now: at(2)) == .comment(comment))
        #expect(state.take(.comment("Hello"), from: bob, named: "Bob", now: at(2)) == .refused(.notAllowed(.comment)))
        // Taken back: at once, and it cannot ask.
        #expect(state.set(.comment, to: .no, of: ann, now: at(3))?.comment == .no)
        #expect(state.set(.comment, to: .no, of: ann, now: at(3)) == nil)
        #expect(
            state.take(.comment("Hello"), from: ann, named: "Ann", now: at(3)) == .refused(.notAllowed(.comment)))
        #expect(state.take(.ask(.comment), from: ann, named: "Ann", now: at(3)) == .refused(.notAllowed(.comment)))
    }

    @Test func aRefusedViewerWaitsUntilItAsksAgain() {
        var state = state(.ask)
        guard case .question(let question) = state.take(.ask(.comment), from: ann, named: "Ann", now: at(0)) else {
            Issue.record("nobody is asked")
            return
        }
        #expect(state.answer(question, false, now: at(10)) == nil)
        #expect(
            state.take(.ask(.comment), from: ann, named: "Ann", now: at(20))
                == .refused(.refusedBefore(.comment, seconds: 50)))
        guard case .question(let second) = state.take(.ask(.comment), from: ann, named: "Ann", now: at(70)) else {
            Issue.record("nobody is asked")
            return
        }
        // An answer that comes late is void.
        #expect(second != question && state.answer(question, true, now: at(71)) == nil)
        #expect(state.isOpen(second))
        state.leave(ann, isForGood: false, now: at(72))
        #expect(!state.isOpen(second) && state.answer(second, true, now: at(73)) == nil)
    }

    @Test func rightsEndWithTheSession() {
        var state = state(.ask)
        _ = state.set(.comment, to: .yes, of: ann, now: at(0))
        // An outage.
        state.leave(ann, isForGood: false, now: at(10))
        state.arrive(ann, now: at(39))
        #expect(state.rights(of: ann).comment == .yes)
        state.leave(ann, isForGood: false, now: at(50))
        state.arrive(ann, now: at(80))
        #expect(state.rights(of: ann).comment == .ask)
        _ = state.set(.comment, to: .yes, of: ann, now: at(81))
        state.leave(ann, isForGood: true, now: at(82))
        state.arrive(ann, now: at(82))
        #expect(state.rights(of: ann).comment == .ask)
    }

    @Test func aFloodOfOneViewerLeavesRoomForOthers() {
        var state = state(.yes)
        var taken = 0
        for number in 0..<10_000 {
            let now = at(Double(number) / 1_000)
            if case .comment = state.take(.comment("x"), from: ann, named: "Ann", now: now) { taken += 1 }
        }
        // Five at once, and one in two seconds.
        #expect(taken == 9 || taken == 10, "\(taken)")
        guard case .comment = state.take(.comment("x"), from: bob, named: "Bob", now: at(10)) else {
            Issue.record("the other one is not heard")
            return
        }
    }

    @Test func questionsAreFew() {
        var state = state(.ask)
        var questions = 0
        for viewer in 0..<1_000 {
            let key = [UInt8(viewer % 256), UInt8(viewer / 256)]
            if case .question = state.take(.ask(.comment), from: key, named: "x", now: at(Double(viewer) / 100)) {
                questions += 1
            }
        }
        #expect(questions == 7, "of 1,000 in ten seconds")
    }

    @Test(arguments: ["", " ", "\u{202E}", "\n\n"])
    func whatCannotBeSeenIsNoComment(_ text: String) {
        var state = state(.yes)
        #expect(state.take(.comment(text), from: ann, named: "Ann", now: at(0)) == .refused(.empty))
    }
}
