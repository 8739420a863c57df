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
        #expect(state.answer(question, true, now: at(2)).first?.granted.rights.comment == .yes)
        let comment = try #require(BroadcastComment(from: "Ann", "Hello"))
        #expect(state.take(.comment("Hello\n"), from: ann, named: "Ann", now: at(2)) == .comment(comment))
        #expect(state.take(.comment("Hello"), from: bob, named: "Bob", now: at(2)) == .refused(.notAllowed(.comment)))
        // Taken back: at once, and it cannot ask.
        #expect(state.set(.comment, to: .no, of: ann, now: at(3)).first?.granted.rights.comment == .no)
        #expect(state.set(.comment, to: .no, of: ann, now: at(3)).isEmpty)
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
        #expect(state.answer(question, false, now: at(10)).isEmpty)
        #expect(
            state.take(.ask(.comment), from: ann, named: "Ann", now: at(20))
                == .refused(.refusedBefore(.comment, seconds: 50)))
        guard case .question(let second) = state.take(.ask(.comment), from: ann, named: "Ann", now: at(70)) else {
            Issue.record("nobody is asked")
            return
        }
        // An answer that comes late is void.
        #expect(second != question && state.answer(question, true, now: at(71)).isEmpty)
        #expect(state.isOpen(second))
        state.leave(ann, isForGood: false, now: at(72))
        #expect(!state.isOpen(second) && state.answer(second, true, now: at(73)).isEmpty)
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

    // MARK: Pointers and control

    @Test func aPointerNeedsTheRightAndHasANumberOfItsOwn() {
        var state = state(.no)
        let gesture = PointerGesture(.move, [PicturePoint(x: 1, y: 2)])
        #expect(
            state.take(.pointer(gesture), from: ann, named: "Ann", now: at(0)) == .refused(.notAllowed(.point)))
        for viewer in [ann, bob] { _ = state.set(.point, to: .yes, of: viewer, now: at(0)) }
        let numbers = [ann, bob].compactMap { viewer -> Int? in
            guard
                case .pointer(gesture, let number) = state.take(
                    .pointer(gesture), from: viewer, named: "x", now: at(1))
            else { return nil }
            return number
        }
        #expect(Set(numbers).count == 2)
        #expect([ann, bob].map { state.granted($0, now: at(1)).pointer } == numbers)
        // More than 60 a second are left out.
        let taken = (0..<1_000).count { number in
            let outcome = state.take(
                .pointer(gesture), from: ann, named: "Ann", now: at(2 + Double(number) / 1_000))
            return outcome != .nothing
        }
        #expect((118...121).contains(taken), "\(taken) in a second")
    }

    @Test func oneViewerControlsAtATime() {
        var state = state(.no)
        let key = ControlInput.key(keysym: 0x61, isPressed: true)
        func input(_ grant: Int, _ count: Int) -> ViewerMessage {
            .input(AimedInput(grant: grant, count: count, time: 0, frame: nil, input: key))
        }
        let first = state.set(.control, to: .yes, of: ann, now: at(0))
        #expect(first.map(\.granted.grant) == [1])
        #expect(state.take(input(1, 1), from: ann, named: "Ann", now: at(0)) == .input(key))
        // Who gets it takes it from the other one, which is told.
        let second = state.set(.control, to: .yes, of: bob, now: at(1))
        #expect(second.map(\.viewer) == [ann, bob])
        #expect(second.map(\.granted.rights.control) == [.ask, .yes] && second.map(\.granted.grant) == [nil, 2])
        #expect(state.take(input(1, 2), from: ann, named: "Ann", now: at(1)) == .nothing)
        #expect(state.take(input(2, 1), from: ann, named: "Ann", now: at(1)) == .nothing)
        #expect(state.take(input(2, 1), from: bob, named: "Bob", now: at(1)) == .input(key))
        // Given back, it can be asked for again at once.
        guard case .changed(let back) = state.take(.release(.control), from: bob, named: "Bob", now: at(2)) else {
            Issue.record("it is not given back")
            return
        }
        #expect(back.map(\.granted) == [GrantedRights(ViewerRights(comment: .no, point: .no, control: .ask))])
        #expect(state.take(input(2, 2), from: bob, named: "Bob", now: at(2)) == .nothing)
        guard case .question = state.take(.ask(.control), from: bob, named: "Bob", now: at(3)) else {
            Issue.record("nobody is asked")
            return
        }
    }

    @Test func controlEndsWithTheSessionAtOnce() {
        var state = state(.no)
        _ = state.set(.control, to: .yes, of: ann, now: at(0))
        state.leave(ann, isForGood: false, now: at(1))
        state.arrive(ann, now: at(1))
        #expect(state.control.controller == nil && state.granted(ann, now: at(1)).grant == nil)
        #expect(state.rights(of: ann).control == .ask)
    }

    @Test func withYesWhoeverAsksControlsIfNobodyElseDoes() {
        var state = ViewerMessageState(defaults: ViewerRights(control: .yes), now: at(0))
        #expect(state.granted(ann, now: at(0)).rights.control == .ask && state.control.controller == nil)
        guard case .changed(let changes) = state.take(.ask(.control), from: ann, named: "Ann", now: at(0)) else {
            Issue.record("a question is asked")
            return
        }
        #expect(changes.map(\.granted.grant) == [1])
        #expect(state.take(.ask(.control), from: bob, named: "Bob", now: at(0)) == .refused(.controlled))
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
