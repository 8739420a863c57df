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

    @Test func eachKeyHasItsAction() {
        var keys = HostKeys(.init())
        let actions: [HostKeys.Action] = [
            .list, .toggle(.pause), .toggle(.blank), .toggle(.freeze), .toggleAudio, .copyLink, .showCode, .showKeys,
        ]
        #expect(press("vpbfmlq?", in: &keys) == actions)
        #expect(press("yna0\u{1B}\n xVPB", in: &keys).isEmpty)
        #expect(keys.handle(.key(.other)).isEmpty && keys.handle(.interrupted).isEmpty)
        let line = "keys: v viewers, p pause, b blank, f freeze, m mute, l copy the link, q QR code, ? all keys"
        #expect(keys.summary == line)
    }

    @Test func keysForWhatTheBroadcastDoesNotHaveAreNone() {
        var keys = HostKeys(.init(hasViewers: false, hasLink: false, hasAudio: false))
        #expect(keys.summary == "keys: p pause, b blank, f freeze, ? all keys")
        #expect(press("vmlq", in: &keys).isEmpty)
    }

    @Test func aViewerIsRemovedByNumberAndConfirmation() {
        var keys = HostKeys(.init())
        #expect(press("v", in: &keys) == [.list])
        #expect(keys.handle(.listed([])).isEmpty && press("1", in: &keys).isEmpty)
        let line = "  Remove which number? (Enter alone: none) "
        #expect(keys.handle(.listed(viewers)) == [.prompt(line)])
        #expect(press("13\u{7F}2", in: &keys).last == .prompt(line + "12"))
        // Other keys do nothing meanwhile.
        #expect(press("bvp", in: &keys).isEmpty && keys.handle(.key(.other)).isEmpty)
        #expect(press("\n", in: &keys) == [.prompt("  Remove \"Bob\" (Firefox, 192.0.2.2)? [y]es, [n]o: ")])
        #expect(press("\n1b", in: &keys).isEmpty)
        #expect(press("y", in: &keys) == [.endPrompt, .remove(12)])
        #expect(press("y", in: &keys).isEmpty)
    }

    @Test(arguments: ["\n", "\u{1B}", "3\nn", "3\n\u{1B}"]) func nobodyIsRemovedWithoutAYes(_ typed: String) {
        var keys = HostKeys(.init())
        _ = keys.handle(.listed(viewers))
        let actions = press(typed, in: &keys)
        #expect(actions.last == .endPrompt && !actions.contains { if case .remove = $0 { true } else { false } })
        #expect(press("b", in: &keys) == [.toggle(.blank)])
    }

    @Test func aNumberThatIsNotInTheListIsAskedForAgain() {
        var keys = HostKeys(.init())
        _ = keys.handle(.listed(viewers))
        let actions = press("1\n", in: &keys)
        #expect(actions.contains(.say("no viewer of the list has the number 1")))
        #expect(
            press("1234567890\u{8}", in: &keys).last == .prompt("  Remove which number? (Enter alone: none) 12345678"))
    }

    /// A key that was meant for the list must not confirm anything after a question.
    @Test func aQuestionEndsWhatWasBeingTyped() {
        var keys = HostKeys(.init())
        _ = keys.handle(.listed(viewers))
        _ = press("3\n", in: &keys)
        #expect(keys.handle(.interrupted) == [.endPrompt])
        #expect(press("y\n", in: &keys).isEmpty)
        #expect(press("p", in: &keys) == [.toggle(.pause)])
    }
}
