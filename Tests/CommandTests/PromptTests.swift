import Admission
import Foundation
import TestSupport
import Testing

/// The question in the terminal, answered in tmux as a user would.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct PromptTests {
    private let arguments = ["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"]

    private func host() throws -> (Terminal, link: String) {
        let terminal = try Terminal(arguments)
        return (terminal, try #require(terminal.waitFor { $0.firstLink }, "\(terminal.screen())"))
    }

    @Test func yesLetsTheViewerInAndNoDoesNot() throws {
        let (terminal, link) = try host()
        let second = try terminal.join(link, name: "Bob")
        let words = try #require(second.event("knock")?["words"] as? String)
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Bob") })
        #expect(terminal.screen().contains(words))
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Bob") })
        try terminal.type("n")
        #expect(second.exitCode() == 77)
        #expect(second.errorText.contains("the host said no; you can ask again in 60 s"), "\(second.errorText)")
        #expect(terminal.waitUntil { $0.contains("they can ask again in 60 s") })
        let again = try terminal.join(link, name: "Bob")
        #expect(again.exitCode() == 77)
        #expect(again.errorText.contains("the host said no; you can ask again in "), "\(again.errorText)")

        // With Bob's certificate, Carol would get Bob's answer.
        let third = try terminal.join(link, name: "Carol", from: TemporaryFolder())
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Carol") })
        try terminal.type("y")
        #expect(third.event("first-picture") != nil, "\(third.errorText)")
        #expect(terminal.waitUntil { $0.contains("LIVE") && $0.contains("1 viewer") })
    }

    @Test func aViewerAdmittedForeverIsNotAskedAboutAgain() throws {
        let (terminal, link) = try host()
        let first = try terminal.join(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Dora") })
        #expect(terminal.screen().contains("Always: lets this person's share join in without a question"))
        try terminal.type("a")
        _ = try #require(first.event("first-picture"))
        first.interrupt()
        // This host asks about all other viewers.
        let second = try terminal.join(link, name: "Dora again")
        #expect(second.event("first-picture") != nil, "\(second.errorText)")
        let told = "\"Dora again\" (share, 127.0.0.1) is known and was let in without a question"
        #expect(terminal.waitUntil { $0.contains(told) })
        second.interrupt()
        let host = try ShareProcess(
            ["host", "--source", "test", "--audio", "none", "--accept", "known", "--listen", "127.0.0.1:0", "--json"],
            in: terminal.hostFolder)
        let again = try #require(host.event("link")?["link"] as? String)
        let known = try terminal.join(again, name: "Dora")
        #expect(known.event("first-picture") != nil, "\(known.errorText)")
        #expect(host.event("accepted")?["remembered"] as? Bool == true)
        #expect(host.waitForError("\"Dora\" (share, 127.0.0.1) is known and was let in without a question"))
        // The same certificate without its key is another identity: see KnockTests.
        let stranger = try ShareProcess(["join", "--headless", "--json", again])
        #expect(stranger.exitCode() == 77)
    }

    @Test func aKnownViewerThatRecordsIsAskedAboutAgain() throws {
        let (terminal, link) = try host()
        let viewer = try terminal.join(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Dora") })
        try terminal.type("a")
        _ = try #require(viewer.event("first-picture"))
        viewer.interrupt()
        let recorder = try terminal.record(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Dora") })
        #expect(terminal.screen().contains("\"Dora\" (share, 127.0.0.1) wants to watch and record."))
        try terminal.type("y")
        #expect(recorder.event("recording") != nil, "\(recorder.errorText)")
    }

    @Test func inputBeforeTheQuestionIsIgnored() throws {
        let (terminal, link) = try host()
        try terminal.type("y", "Enter", "y")
        let viewer = try terminal.join(link, name: "Mallory")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Mallory") }, "\(terminal.screen())")
        #expect(viewer.lines.allSatisfy { !$0.contains("accepted") })
        try terminal.type("n")
        #expect(viewer.exitCode() == 77)
    }

    @Test func aQuestionThatHasEndedMakesRoomForTheNext() throws {
        let (terminal, link) = try host()
        let bob = try terminal.join(link, name: "Bob")
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Bob") })
        let carol = try terminal.join(link, name: "Carol", from: TemporaryFolder())
        try #require(terminal.waitUntil { $0.contains("Knock 1 of 2: \"Bob\"") }, "\(terminal.screen())")
        bob.interrupt()
        try #require(terminal.waitUntil { $0.contains("Knock: \"Carol\"") }, "\(terminal.screen())")
        #expect(!terminal.screen().contains("\"Bob\" (share, 127.0.0.1) wants to watch"))
        #expect(carol.lines.allSatisfy { !$0.contains("accepted") })
    }

    @Test func anythingButAnAnswerIsAskedAgain() throws {
        let (terminal, link) = try host()
        let viewer = try terminal.join(link, name: "Frank")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Frank") })
        for key in ["Enter", "x", "Up", "C-d", "ä", "yes"] {
            try terminal.type(key)
        }
        #expect(terminal.waitUntil { $0.contains("Press y, n or a.") })
        #expect(viewer.lines.allSatisfy { !$0.contains("accepted") && !$0.contains("refused") })
        // On a busy machine `share` may read the first "y" together with the "yes" before it, as one paste.
        var isShown = false
        for _ in 0..<5 where !isShown {
            try terminal.type("y")
            isShown = viewer.event("first-picture") != nil
        }
        #expect(isShown, "\(viewer.errorText)")
        // Ctrl-D did not end the reading of keys.
        let next = try terminal.join(link, name: "Grace", from: TemporaryFolder())
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Grace") }, "\(terminal.screen())")
        try terminal.type("n")
        #expect(next.exitCode() == 77)
    }

    @Test func theQuestionIsWholeAgainAfterALineCutIn() throws {
        let (terminal, link) = try host()
        let first = try terminal.join(link, name: "Bob")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Bob") })
        try terminal.type("y")
        _ = try #require(first.event("first-picture"))
        let second = try terminal.join(link, name: "Carol", from: TemporaryFolder())
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Carol") })
        first.interrupt()
        let screen = try #require(terminal.waitFor { $0.contains("\"Bob\" (share, 127.0.0.1) has left") ? $0 : nil })
        let lines = screen.split(separator: "\n").map(String.init)
        let gone = try #require(lines.firstIndex { $0.contains("has left") })
        let words = try #require(second.event("knock")?["words"] as? String)
        #expect(lines[(gone + 1)...].contains { $0.contains("\"Carol\" (share, 127.0.0.1) wants to watch.") })
        #expect(lines[(gone + 1)...].contains { $0.contains(words) })
        #expect(lines.count { $0.contains("\"Carol\"") } == 1)
        #expect(lines.last?.contains("Let them in?") == true)
    }

    @Test func aNameCannotImitateTheQuestion() throws {
        let (terminal, link) = try host()
        let name = "Ann\" (share, 10.0.0.1) wants to watch.\u{3164}\u{2800}\n  Let them in?"
        try withExtendedLifetime(terminal.join(link, name: name)) {
            let quoted = #""Ann\" (share, 10.0.0.1) wants to watch. Let them in?" (share, 127.0.0.1) wants to watch."#
            try #require(terminal.waitUntil { $0.contains(quoted) }, "\(terminal.screen())")
        }
    }

    @Test func aBellRingsForAKnock() throws {
        let (terminal, link) = try host()
        try terminal.record()
        let viewer = try terminal.join(link, name: "Heidi")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Heidi") })
        #expect(terminal.waitUntil { _ in terminal.recorded.contains(7) })
        #expect(terminal.recorded.count { $0 == 7 } == 1)
        viewer.interrupt()
    }

    @Test func theTerminalIsItsOwnAgainWhileStoppedAndIsTakenBack() throws {
        let shell = try Terminal(shell: arguments)
        let link = try #require(shell.waitFor { $0.firstLink }, "\(shell.screen())")
        let viewer = try shell.join(link, name: "Ivan")
        _ = try #require(shell.waitFor { $0.takesAnswer(about: "Ivan") })
        try shell.type("C-z")
        try #require(shell.waitUntil { $0.contains("Stopped") }, "\(shell.screen())")
        try shell.type("stty -a; echo checked", "Enter")
        let modes = try #require(shell.waitFor { $0.contains("\nchecked") ? $0 : nil })
        #expect(modes.contains(" icanon") && modes.contains(" echo "))
        try shell.type("clear; fg", "Enter")
        _ = try #require(shell.waitFor { $0.isAsking(about: "Ivan") }, "\(shell.screen())")
        _ = try #require(shell.waitFor { $0.takesAnswer(about: "Ivan") })
        let shown = try #require(shell.waitFor { $0.secondsLeft })
        // Keys count again one second after `fg`.
        try #require(shell.waitUntil { $0.secondsLeft.map { $0 < shown - 1 } == true })
        try shell.type("y")
        #expect(viewer.event("first-picture") != nil, "\(shell.screen())")
    }

    @Test(arguments: ["C-c", "C-\\", "kill -TERM", "kill -SEGV", "kill -ABRT"])
    func theTerminalGetsItsModeBackAtTheEnd(_ end: String) throws {
        let shell = try Terminal(shell: arguments, environment: ["SWIFT_BACKTRACE": "enable=no"])
        let link = try #require(shell.waitFor { $0.firstLink }, "\(shell.screen())")
        let viewer = try shell.join(link, name: "Judy")
        _ = try #require(shell.waitFor { $0.isAsking(about: "Judy") })
        if end.hasPrefix("kill") {
            let port = try #require(URL(string: link)?.port)
            let line = try Program("ss", ["-Hltnp", "sport = :\(port)"]).finish()
            let place = try #require(line.range(of: "pid=[0-9]+", options: .regularExpression), "\(line)")
            let pid = line[place].dropFirst(4)
            try Program("kill", [String(end.dropFirst(5)), String(pid)]).finish()
        } else {
            try shell.type(end)
        }
        try #require(shell.waitUntil { $0.hasSuffix("ready>") }, "\(shell.screen())")
        try shell.type("clear; stty -a; echo checked", "Enter")
        let modes = try #require(shell.waitFor { $0.contains("\nchecked") ? $0 : nil }, "\(shell.screen())")
        #expect(modes.contains(" icanon") && modes.contains(" echo "), "\(modes)")
        viewer.kill()
    }
}
