import Foundation
import MediaCore
import Signaling
import Synchronization
import Testing

@testable import Admission
@testable import CommandSupport
@testable import Identifiers
@testable import Identity
@testable import RelayVerb
@testable import share

/// Which key answers which question, with instants as arguments.
@Suite(.timeLimit(.minutes(1)))
struct PromptKeyTests {
    private let prompt = Prompt()

    private func question(_ name: String) -> Prompt.Question {
        Prompt.Question(
            id: KnockID.random(), who: UntrustedText.quote(name), words: "a b c d", always: "lets them in",
            deadline: .now + .seconds(60))
    }

    /// Asks a question, and polls until it is queued.
    private func ask(_ name: String) async -> Task<Prompt.Answer?, Never> { await ask(question(name)) }

    private func ask(_ question: Prompt.Question) async -> Task<Prompt.Answer?, Never> {
        let task = Task { [prompt] in await prompt.answer(to: question) }
        while !prompt.isWaiting(question.id) { try? await Task.sleep(for: .milliseconds(1)) }
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

    /// Somebody who watches cannot have those wait who want to.
    @Test func newcomersAreAskedAboutBeforeTheWishesOfViewers() async {
        let wish = Prompt.Question(
            kind: .right, id: KnockID.random(), who: "Bob", request: "wants to write comments", details: [],
            invitation: "Allow it?", deadline: .now + .seconds(60))
        let ann = await ask("Ann")
        let bob = await ask(wish)
        let carol = await ask("Carol")
        prompt.pressed(.key(UInt8(ascii: "n")), at: .now + .seconds(1))
        #expect(await ann.value == .no)
        // No answer to a wish.
        prompt.pressed(.key(UInt8(ascii: "a")), at: .now + .seconds(1))
        #expect(await carol.value == .always)
        prompt.pressed(.key(UInt8(ascii: "y")), at: .now + .seconds(1))
        #expect(await bob.value == .yes)
    }

    @Test func keysAreFreeWhileNoQuestionIsAskedAndASecondAfterIt() async {
        let free = Mutex<[Prompt.FreeInput]>([])
        prompt.onFreeInput { input in free.withLock { $0.append(input) } }
        let key = KeyPress.key(UInt8(ascii: "b"))
        prompt.pressed(key, at: .now)
        #expect(free.withLock { $0 } == [.key(key)])
        let bob = await ask("Bob")
        prompt.pressed(key, at: .now)
        prompt.pressed(key, at: .now + .seconds(1))
        #expect(free.withLock { $0 } == [.key(key), .question])
        prompt.pressed(.key(UInt8(ascii: "n")), at: .now + .seconds(1))
        #expect(await bob.value == .no)
        prompt.pressed(key, at: .now)
        #expect(free.withLock { $0.count } == 2)
        prompt.pressed(key, at: .now + .seconds(1))
        #expect(free.withLock { $0 } == [.key(key), .question, .key(key)])
    }

    /// Also in the quiet second of a question, and in the one after it.
    @Test func urgentKeysArePassedOnAtEveryMomentAndAnswerNothing() async {
        let free = Mutex<[Prompt.FreeInput]>([])
        let byte = UInt8(ascii: "b")
        prompt.onFreeInput(urgentKeys: [byte]) { input in free.withLock { $0.append(input) } }
        let bob = await ask("Bob")
        prompt.pressed(.key(byte), at: .now)
        prompt.pressed(.key(byte), at: .now + .seconds(1))
        #expect(free.withLock { $0 } == [.question, .urgent(byte), .urgent(byte)])
        prompt.pressed(.key(UInt8(ascii: "n")), at: .now + .seconds(1))
        #expect(await bob.value == .no)
        prompt.pressed(.key(byte), at: .now)
        #expect(free.withLock { $0.count } == 4)
        prompt.onFreeInput(nil)
        prompt.pressed(.key(byte), at: .now + .seconds(2))
        #expect(free.withLock { $0.count } == 4)
    }

    @Test func keyReadBeforeTheQuestionIsNoAnswerToIt() async {
        let read = ContinuousClock.now
        let task = await ask("Bob")
        prompt.pressed(.key(UInt8(ascii: "y")), at: read)
        prompt.pressed(.key(UInt8(ascii: "a")), at: .now + .seconds(1))
        #expect(await task.value == .always)
    }

    @Test(arguments: [
        KeyPress.key(10), .key(13), .key(4), .key(27), .key(UInt8(ascii: "A")), .key(UInt8(ascii: " ")),
        .text([27, 91, 65]),
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

    @Test func questionShowsTheQueueAndTheRemainingSeconds() {
        let question = question("Bob")
        let lines = Prompt.lines(
            question, waiting: 3, isAskedAgain: false, now: question.deadline - .seconds(42))
        #expect(lines.first == "Knock 1 of 3: \"Bob\" wants to watch.")
        #expect(lines.contains { $0.contains("a b c d") })
        #expect(lines.last?.contains("42 s left") == true)
    }
}
