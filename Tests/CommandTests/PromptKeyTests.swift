import Foundation
import Signaling
import TestSupport
import Testing

@testable import share

/// Which key answers which question, with instants as arguments.
@Suite(.timeLimit(.minutes(1)))
struct PromptKeyTests {
    private let prompt = Prompt()

    private func question(_ name: String) -> Prompt.Question {
        Prompt.Question(
            id: KnockID.random(), who: PeerText.quote(name), words: "a b c d", always: "lets them in",
            deadline: .now + .seconds(60))
    }

    /// Asks a question, and waits until it is queued.
    private func ask(_ name: String) async -> Task<Prompt.Answer?, Never> {
        let question = question(name)
        let task = Task { [prompt] in await prompt.answer(to: question) }
        while !prompt.isWaiting(question.id) { await Task.yield() }
        return task
    }

    @Test func keyInAQuestionsFirstSecondIsIgnored() async {
        let before = ContinuousClock.now
        let task = await ask("Bob")
        let after = ContinuousClock.now
        prompt.pressed(.key(UInt8(ascii: "y")), at: before)
        prompt.pressed(.key(UInt8(ascii: "y")), at: before + .milliseconds(999))
        prompt.pressed(.key(UInt8(ascii: "n")), at: after + .seconds(1))
        #expect(await task.value == .no)
    }

    @Test func keyForAnEndedQuestionDoesNotAnswerTheNext() async {
        let bob = await ask("Bob")
        let carol = await ask("Carol")
        let before = ContinuousClock.now
        bob.cancel()
        #expect(await bob.value == nil)
        let after = ContinuousClock.now
        // Bob's question has been shown for over a second, Carol's has not.
        prompt.pressed(.key(UInt8(ascii: "y")), at: before + .milliseconds(999))
        prompt.pressed(.key(UInt8(ascii: "n")), at: after + .seconds(1))
        #expect(await carol.value == .no)
    }

    @Test func keyReadBeforeTheQuestionIsNoAnswerToIt() async {
        let read = ContinuousClock.now
        let task = await ask("Bob")
        prompt.pressed(.key(UInt8(ascii: "y")), at: read)
        prompt.pressed(.key(UInt8(ascii: "a")), at: .now + .seconds(1))
        #expect(await task.value == .always)
    }

    @Test(arguments: [
        KeyPress.key(10), .key(13), .key(4), .key(27), .key(UInt8(ascii: "A")), .key(UInt8(ascii: " ")), .other,
    ])
    func otherKeysAnswerNothing(_ key: KeyPress) async {
        let task = await ask("Bob")
        prompt.pressed(key, at: .now + .seconds(2))
        prompt.pressed(.key(UInt8(ascii: "y")), at: .now + .seconds(3))
        #expect(await task.value == .yes)
    }

    @Test func oneKeyAnswersOneQuestion() async {
        let bob = await ask("Bob")
        let carol = await ask("Carol")
        let late = ContinuousClock.now + .seconds(2)
        prompt.pressed(.key(UInt8(ascii: "y")), at: late)
        #expect(await bob.value == .yes)
        carol.cancel()
        #expect(await carol.value == nil)
    }

    @Test func questionSaysHowManyWaitAndTheSecondsThatAreLeft() {
        let question = question("Bob")
        let lines = Prompt.lines(
            question, waiting: 3, isAskedAgain: false, now: question.deadline - .seconds(42))
        #expect(lines.first == "Knock 1 of 3: \"Bob\" wants to watch.")
        #expect(lines.contains { $0.contains("a b c d") })
        #expect(lines.last?.contains("42 s left") == true)
    }
}

/// The address of the session bus for notifications of knocks.
@Suite struct KnockNotifierTests {
    @Test func sessionBusIsTheEnvironmentsOrTheLoginsAndNoneIsStarted() throws {
        let folder = try TemporaryFolder()
        #expect(KnockNotifier.busAddress(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"]) == "unix:path=/x")
        #expect(KnockNotifier.busAddress(["XDG_RUNTIME_DIR": folder.path]) == nil)
        try Data().write(to: URL(fileURLWithPath: folder.file("bus")))
        #expect(KnockNotifier.busAddress(["XDG_RUNTIME_DIR": folder.path]) == "unix:path=\(folder.file("bus"))")
        #expect(KnockNotifier.busAddress(["DISPLAY": ":0"]) == nil)
    }
}

/// Refusals are printed or counted.
@Suite struct RefusalCounterTests {
    private let start = ContinuousClock.now

    @Test func firstRefusalsAreSaidAndTheRestIsCounted() {
        var counter = RefusalCounter()
        for _ in 0..<3 { #expect(counter.add("Bob was not let in", at: start) == .line("Bob was not let in")) }
        #expect(counter.add("Eve", at: start) == .count("1 more; the last: Eve", isRound: true))
        for _ in 0..<998 { _ = counter.add("Eve", at: start) }
        #expect(counter.add("Eve", at: start) == .count("1000 more; the last: Eve", isRound: false))
    }

    @Test func countIsSaidWhenNoMoreCome() {
        var counter = RefusalCounter()
        for _ in 0..<5 { _ = counter.add("Eve", at: start) }
        #expect(counter.settle(at: start + .seconds(59)) == .nothing)
        #expect(counter.settle(at: start + .seconds(60)) == .line("2 more were not let in"))
        #expect(counter.settle(at: start + .seconds(61)) == .nothing)
        #expect(counter.add("Bob", at: start + .seconds(62)) == .line("Bob"))
    }
}

@Suite struct TerminalTextTests {
    @Test func linesBreakBetweenWords() {
        let text = "share: \"Ann\" (share, 127.0.0.1) was not let in: nobody answered"
        #expect(TextLayout.wrap(text, columns: 200) == [text])
        let lines = TextLayout.wrap(text, columns: 40)
        #expect(lines == ["share: \"Ann\" (share, 127.0.0.1) was not", "       let in: nobody answered"])
        #expect(TextLayout.wrap("  https://" + String(repeating: "x", count: 60) + " y", columns: 40).count == 2)
    }

    @Test func widthCountsColumns() {
        #expect(TextLayout.width("李雷") == 4)
        #expect(TextLayout.width("e\u{301}\u{1B}[31mx\u{1B}[0m") == 2)
    }

    @Test func plainLocaleGetsPlainCharacters() {
        let plain = TerminalStyle(isTerminal: true, environment: ["TERM": "xterm", "LANG": "C"])
        #expect(plain.fit("\u{25CF} Åsa \u{2026}") == "* ?sa ...")
        let unicode = TerminalStyle(isTerminal: true, environment: ["TERM": "xterm", "LANG": "en_GB.UTF-8"])
        #expect(unicode.fit("\u{25CF} Åsa \u{2026}") == "\u{25CF} Åsa \u{2026}")
        #expect(!TerminalStyle(isTerminal: true, environment: ["LANG": "C.UTF-8", "LC_ALL": "POSIX"]).isUTF8)
    }

    @Test func coloursAreForTerminalsThatHaveThem() {
        func colours(_ environment: [String: String], isTerminal: Bool = true) -> Bool {
            TerminalStyle(isTerminal: isTerminal, environment: environment).hasColours
        }
        #expect(colours(["TERM": "xterm"]))
        #expect(colours(["TERM": "xterm", "NO_COLOR": ""]))
        #expect(!colours(["TERM": "xterm", "NO_COLOR": "1"]))
        #expect(!colours(["TERM": "dumb"]))
        #expect(!colours(["TERM": "xterm"], isTerminal: false))
    }
}
