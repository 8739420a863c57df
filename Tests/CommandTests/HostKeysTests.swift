import CommandSupport
import MediaCore
import Testing

@testable import share

/// What keys in the host's terminal do, as values.
@Suite struct HostKeysTests {
    private let viewers: [HostKeys.ListedViewer] = [
        .init(number: 3, title: "\"Ann\" (share, 192.0.2.1)"), .init(number: 12, title: "\"Bob\" (Firefox, 192.0.2.2)"),
    ]

    private func press(_ text: String, in keys: inout HostKeys) -> [HostKeys.Action] {
        text.utf8.flatMap { keys.handle(.key(.key($0))) }
    }

    /// Lists the viewers, and returns what follows.
    private func list(in keys: inout HostKeys) -> [HostKeys.Action] {
        guard case .list(let number)? = press("v", in: &keys).first else { return [] }
        return keys.handle(.listed(number, viewers))
    }

    @Test func eachKeyHasItsAction() {
        var keys = HostKeys(.init())
        let actions: [HostKeys.Action] = [
            .list(1), .toggle(.pause), .toggle(.blank), .toggle(.freeze), .toggleAudio, .copyLink, .showCode, .showKeys,
        ]
        #expect(press("vpbfmlq?", in: &keys) == actions)
        #expect(press("yna0\u{1B}\n xVPB", in: &keys).isEmpty)
        #expect(keys.handle(.key(.text([27, 91, 65]))).isEmpty && keys.handle(.interrupted).isEmpty)
        let line =
            "keys: v viewers, c comment, p pause, b blank, f freeze, m mute, l copy the link, q QR code, ? all keys"
        #expect(keys.summary == line)
    }

    @Test func keysForWhatTheBroadcastDoesNotHaveAreNone() {
        var keys = HostKeys(.init(hasViewers: false, hasLink: false, hasAudio: false))
        #expect(keys.summary == "keys: p pause, b blank, f freeze, ? all keys")
        #expect(press("vmlq", in: &keys).isEmpty)
    }

    @Test func aViewerIsRemovedByNumberAndConfirmation() {
        var keys = HostKeys(.init())
        #expect(press("v", in: &keys) == [.list(1)])
        #expect(keys.handle(.listed(1, [])).isEmpty && press("1", in: &keys).isEmpty)
        let line = "  Which number? (Enter alone: none) "
        #expect(list(in: &keys) == [.prompt(line)])
        #expect(press("13\u{7F}2", in: &keys).last == .prompt(line + "12"))
        // Other keys do nothing meanwhile.
        #expect(press("bvp", in: &keys).isEmpty && keys.handle(.key(.text([27, 91, 65]))).isEmpty)
        #expect(press("\n", in: &keys) == [.prompt("  Remove \"Bob\" (Firefox, 192.0.2.2)? [y]es, [n]o: ")])
        #expect(press("\n1b", in: &keys).isEmpty)
        #expect(press("y", in: &keys) == [.endPrompt, .remove(12)])
        #expect(press("y", in: &keys).isEmpty)
    }

    @Test func aCommentIsWrittenAndSent() {
        var keys = HostKeys(.init())
        let line = "  Comment (Enter sends it, Esc leaves): "
        #expect(press("c", in: &keys) == [.write(line)])
        // The keys of other actions are letters here, and those that were urgent are none.
        #expect(press("vbx!", in: &keys).last == .write(line + "vbx!"))
        #expect(keys.handle(.key(.text(Array("grüß\nGott ".utf8)))) == [.write(line + "vbx!grüß Gott ")])
        #expect(keys.handle(.key(.text([27, 91, 68]))).isEmpty, "an arrow key")
        #expect(press("\u{7F}\u{7F}", in: &keys).last == .write(line + "vbx!grüß Got"))
        // A question takes the line; what was written stays.
        #expect(keys.handle(.interrupted) == [.endPrompt])
        #expect(press("c", in: &keys) == [.write(line + "vbx!grüß Got")])
        #expect(press("\n", in: &keys) == [.endPrompt, .comment("vbx!grüß Got")])
        #expect(press("c", in: &keys) == [.write(line)])
        #expect(press(" \n", in: &keys) == [.write(line + " "), .endPrompt], "nothing of it is visible")
        #expect(press("c\u{15}\u{1B}", in: &keys).last == .endPrompt)
        _ = press("c", in: &keys)
        _ = keys.handle(.key(.text([UInt8](repeating: 97, count: 5_000))))
        guard case .comment(let text)? = press("\n", in: &keys).last else {
            Issue.record("it is not sent")
            return
        }
        #expect(text.count == 2_000)
    }

    @Test func aViewerIsAllowedToWriteAndNotAnyMore() {
        var keys = HostKeys(.init())
        func choose(_ comment: RightState) -> [HostKeys.Action] {
            guard case .list(let number)? = press("v", in: &keys).first else { return [] }
            let rights = ViewerRights(comment: comment, point: .no, control: .no)
            _ = keys.handle(.listed(number, [.init(number: 3, title: "Ann", rights: rights)]))
            return press("3\n", in: &keys).suffix(1)
        }
        let rest = "allow the [p]ointer, Enter alone: nothing: "
        #expect(choose(.ask) == [.prompt("  Ann: [r]emove, allow [c]omments, " + rest)])
        #expect(press("yn3b", in: &keys).isEmpty)
        #expect(press("c", in: &keys) == [.endPrompt, .setRight(.comment, isGranted: true, 3)])
        #expect(choose(.yes) == [.prompt("  Ann: [r]emove, take [c]omments back, " + rest)])
        #expect(press("c", in: &keys) == [.endPrompt, .setRight(.comment, isGranted: false, 3)])
        #expect(choose(.no).count == 1 && press("\n", in: &keys) == [.endPrompt])
        #expect(choose(.no).count == 1 && press("r", in: &keys) == [.prompt("  Remove Ann? [y]es, [n]o: ")])
        #expect(press("y", in: &keys) == [.endPrompt, .remove(3)])
        // A question takes the terminal.
        #expect(choose(.no).count == 1 && keys.handle(.interrupted) == [.endPrompt])
        #expect(press("r", in: &keys).isEmpty)
    }

    @Test(arguments: ["\n", "\u{1B}", "3\nn", "3\n\u{1B}"]) func nobodyIsRemovedWithoutAYes(_ typed: String) {
        var keys = HostKeys(.init())
        _ = list(in: &keys)
        let actions = press(typed, in: &keys)
        #expect(actions.last == .endPrompt && !actions.contains { if case .remove = $0 { true } else { false } })
        #expect(press("b", in: &keys) == [.toggle(.blank)])
    }

    @Test func aNumberThatIsNotInTheListIsAskedForAgain() {
        var keys = HostKeys(.init())
        _ = list(in: &keys)
        let actions = press("1\n", in: &keys)
        #expect(actions.contains(.say("no viewer of the list has the number 1")))
        #expect(
            press("1234567890\u{8}", in: &keys).last == .prompt("  Which number? (Enter alone: none) 12345678"))
    }

    /// A key that was meant for the list must not confirm anything after a question.
    @Test func aQuestionEndsWhatWasBeingTyped() {
        var keys = HostKeys(.init())
        _ = list(in: &keys)
        _ = press("3\n", in: &keys)
        #expect(keys.handle(.interrupted) == [.endPrompt])
        #expect(press("y\n", in: &keys).isEmpty)
        #expect(press("p", in: &keys) == [.toggle(.pause)])
    }

    /// The list comes while a question is asked, or after it: no hidden line takes the keys that follow.
    @Test func aQuestionEndsAListThatIsAwaited() {
        var keys = HostKeys(.init())
        #expect(press("v", in: &keys) == [.list(1)])
        #expect(keys.handle(.interrupted).isEmpty)
        #expect(keys.handle(.listed(1, viewers)).isEmpty)
        #expect(press("p", in: &keys) == [.toggle(.pause)])
        // Neither does a list that comes after another one was asked for.
        #expect(press("vv", in: &keys) == [.list(2), .list(3)])
        #expect(keys.handle(.listed(2, viewers)).isEmpty)
        #expect(keys.handle(.listed(3, viewers)).count == 1)
        #expect(press("p", in: &keys).isEmpty)
    }

    @Test func blankWorksAtEveryMoment() {
        var keys = HostKeys(.init())
        let blank = HostKeys.Event.urgent(UInt8(ascii: "b"))
        #expect(HostKeys.urgent == [UInt8(ascii: "b"), UInt8(ascii: "x")])
        #expect(keys.handle(blank) == [.toggle(.blank)])
        _ = press("v", in: &keys)
        #expect(keys.handle(blank) == [.toggle(.blank)])
        #expect(keys.handle(.listed(1, viewers)).count == 1)
        #expect(keys.handle(blank) == [.toggle(.blank)])
        // What is typed stays.
        _ = press("12\n", in: &keys)
        #expect(keys.handle(blank) == [.toggle(.blank)])
        #expect(press("y", in: &keys) == [.endPrompt, .remove(12)])
    }
}
