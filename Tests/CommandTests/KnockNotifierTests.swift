import BusSupport
import Foundation
import MediaCore
import SessionBus
import Signaling
import Testing

@testable import Admission
@testable import CommandSupport
@testable import Identifiers
@testable import Identity

/// When a button of a notification counts, with instants as arguments.
@Suite(.timeLimit(.minutes(1)))
struct KnockNotifierTests {
    private let bus: TestBus
    private let desktop: BusService
    private let notifier: KnockNotifier
    private let prompt = Prompt()

    init() throws {
        bus = try TestBus()
        desktop = try bus.service("org.freedesktop.Notifications") { call in
            switch call.member {
            case "GetCapabilities": [.array(of: "s", [.text("actions")])]
            case "Notify": [.uint32(7)]
            case "CloseNotification": []
            default: nil
            }
        }
        notifier = KnockNotifier(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        notifier.answer(prompt)
    }

    /// The keys of the buttons of a notification that was shown, by its place.
    private func keys(_ place: Int) async throws -> (accept: String, refuse: String) {
        let shown = try #require(desktop.messages(place) { $0.member == "Notify" }.last)
        // The desktop's reply may be on its way.
        while !notifier.isShown { try await Task.sleep(for: .milliseconds(1)) }
        let keys = shown.arguments[5].list?.compactMap(\.text) ?? []
        try #require(keys.count == 4 && keys[1] == "Accept" && keys[3] == "Refuse")
        return (keys[0], keys[2])
    }

    @Test func theQuietSecondBeginsWhenTheDesktopShowsTheQuestion() async throws {
        let question = Prompt.Question(
            id: KnockID.random(), who: UntrustedText.quote("Ann"), words: "a b c d", always: "lets them in",
            deadline: .now + .seconds(60))
        let task = Task { [prompt] in await prompt.answer(to: question) }
        while !prompt.isWaiting(question.id) { try await Task.sleep(for: .milliseconds(1)) }
        // The terminal has asked for some time when the desktop shows it.
        let asked = ContinuousClock.now
        while ContinuousClock.now < asked + .milliseconds(2) { await Task.yield() }
        let shown = ContinuousClock.now
        notifier.show(question)
        let first = try await keys(1)
        #expect(!first.accept.contains(question.id.text) && !first.refuse.contains(question.id.text))
        notifier.chosen(first.accept, at: shown + .seconds(1) - .milliseconds(1))
        #expect(prompt.isWaiting(question.id))
        // It is shown again, with other keys.
        let next = try await keys(2)
        #expect(next.accept != first.accept)
        notifier.chosen(first.accept, at: .now + .seconds(5))
        #expect(prompt.isWaiting(question.id))
        notifier.chosen(next.refuse, at: .now + .seconds(5))
        let isAnswered = !prompt.isWaiting(question.id)
        #expect(isAnswered)
        if !isAnswered { task.cancel() }
        #expect(await task.value == Prompt.Answer.no)
    }
}
