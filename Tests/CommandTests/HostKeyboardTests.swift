import Foundation
import TestSupport
import Testing

/// The keys of a host in a terminal, typed in tmux as a user would.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct HostKeyboardTests {
    private func host(_ arguments: [String] = ["--accept", "any"]) throws -> (Terminal, link: String) {
        let terminal = try Terminal(["host", "--source", "test", "--listen", "127.0.0.1:0"] + arguments)
        let link = try #require(
            terminal.waitFor { $0.contains("? all keys") ? $0.firstLink : nil }, "\(terminal.screen())")
        return (terminal, link)
    }

    @Test func keysHoldTheBroadcastBackAndLetItGoOn() throws {
        let (terminal, link) = try host()
        #expect(terminal.screen().contains("share: keys: v viewers, c comment, p pause, b blank,"))
        let viewer = try terminal.join(link, name: "Ann")
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        for (key, hold) in [("f", "freeze"), ("p", "pause"), ("b", "blank")] {
            try terminal.type(key)
            #expect(viewer.event("paused") { $0["hold"] as? String == hold } != nil, "\(terminal.screen())")
        }
        #expect(terminal.waitUntil { $0.contains("share: blanked:") && $0.contains("BLANKED") })
        try terminal.type("b")
        #expect(terminal.waitUntil { $0.contains("share: unblanked, and still paused") }, "\(terminal.screen())")
        try terminal.type("p")
        #expect(terminal.waitUntil { $0.contains("share: resumed, and still frozen") }, "\(terminal.screen())")
        try terminal.type("f")
        #expect(viewer.event("resumed") != nil && terminal.waitUntil { $0.contains("share: unfrozen") })
        try terminal.type("m")
        #expect(terminal.waitUntil { $0.contains("share: the system audio is muted") }, "\(terminal.screen())")
        try terminal.type("m")
        #expect(terminal.waitUntil { $0.contains("share: the system audio is on again") })
    }

    @Test func keysListRemoveCopyAndExplain() throws {
        let (terminal, link) = try host(["--accept", "any", "--no-qr"])
        try terminal.type("v")
        #expect(terminal.waitUntil { $0.contains("share: nobody watches") }, "\(terminal.screen())")
        let viewer = try terminal.join(link, name: "Ann")
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        try terminal.type("?")
        #expect(terminal.waitUntil { $0.contains("b  blank: a grey picture at once") && $0.contains("Ctrl-C ends") })
        try terminal.type("l")
        #expect(terminal.waitUntil { $0.contains("share: the terminal was asked to copy the link") })
        #expect(terminal.clipboard == link)
        try terminal.type("q")
        #expect(terminal.waitUntil { $0.contains("\u{2580}") || $0.contains("\u{2588}") }, "\(terminal.screen())")
        try terminal.type("v")
        let line = try #require(
            terminal.waitFor { screen in
                screen.hasSuffix("Which number? (Enter alone: none)")
                    ? screen.split(separator: "\n").last { $0.contains("\"Ann\" (share, 127.0.0.1)") } : nil
            }, "\(terminal.screen())")
        let number = try #require(line.split(separator: " ").first)
        // Keys that come within 30 ms of each other are taken as pasted text.
        try terminal.type(String(number))
        #expect(terminal.waitUntil { $0.hasSuffix("(Enter alone: none) \(number)") }, "\(terminal.screen())")
        try terminal.type("Enter")
        let choices = "[r]emove, allow [c]omments, allow the [p]ointer, Enter alone: nothing:"
        #expect(terminal.waitUntil { $0.hasSuffix(choices) }, "\(terminal.screen())")
        try terminal.type("c")
        #expect(terminal.waitUntil { $0.contains("share: \"Ann\" (share, 127.0.0.1) may comment from now on") })
        #expect(viewer.event("rights") { $0["comment"] as? String == "yes" } != nil)
        try terminal.type("c")
        #expect(terminal.waitUntil { $0.hasSuffix("Comment (Enter sends it, Esc leaves):") }, "\(terminal.screen())")
        // "b" alone would blank.
        try terminal.type("b")
        #expect(terminal.waitUntil { $0.hasSuffix("Esc leaves): b") }, "\(terminal.screen())")
        try terminal.type("ye")
        #expect(terminal.waitUntil { $0.hasSuffix("Esc leaves): bye") }, "\(terminal.screen())")
        try terminal.type("Enter")
        #expect(viewer.event("comment") { $0["text"] as? String == "bye" } != nil, "\(terminal.screen())")
        try terminal.type("v")
        #expect(terminal.waitUntil { $0.hasSuffix("Which number? (Enter alone: none)") }, "\(terminal.screen())")
        try terminal.type(String(number))
        #expect(terminal.waitUntil { $0.hasSuffix("(Enter alone: none) \(number)") }, "\(terminal.screen())")
        try terminal.type("Enter")
        #expect(terminal.waitUntil { $0.hasSuffix("take [c]omments back, allow the [p]ointer, Enter alone: nothing:") })
        try terminal.type("r")
        #expect(terminal.waitUntil { $0.hasSuffix("Remove \"Ann\" (share, 127.0.0.1)? [y]es, [n]o:") })
        try terminal.type("y")
        #expect(viewer.exitCode() == 77)
        #expect(terminal.waitUntil { $0.contains("share: \"Ann\" (share, 127.0.0.1) was removed") })
        // The line is gone, and the status is back.
        #expect(terminal.waitUntil { $0.split(separator: "\n").last?.contains("waiting") == true })
    }

    @Test func whileAQuestionIsOpenNoKeyDoesAnythingElse() throws {
        let (terminal, link) = try host([])
        let viewer = try terminal.join(link, name: "Mallory")
        _ = try #require(terminal.waitFor { $0.takesAnswer(about: "Mallory") }, "\(terminal.screen())")
        try terminal.type("p")
        #expect(terminal.waitUntil { $0.contains("Press y, n or a.") })
        // But the picture can be hidden at every moment.
        try terminal.type("b")
        #expect(terminal.waitUntil { $0.contains("share: blanked:") }, "\(terminal.screen())")
        #expect(terminal.screen().isAsking(about: "Mallory") != nil, "\(terminal.screen())")
        try terminal.type("n")
        #expect(viewer.exitCode() == 77)
        #expect(!terminal.screen().contains("paused"))
        // A key that comes right after it was meant for the question.
        try terminal.type("n")
        try terminal.type("C-c")
        #expect(terminal.waitUntil { $0.contains("share: ended by Ctrl-C") }, "\(terminal.screen())")
        // The terminal is as it was: what is typed is shown again.
        try terminal.type("hello", "Enter")
        #expect(terminal.waitUntil { $0.components(separatedBy: "hello").count >= 3 }, "\(terminal.screen())")
    }

    /// A shell's `fg` sends no signal to a job that runs.
    @Test func aHostThatCameToTheForegroundHasItsKeys() throws {
        let shell = try Terminal(shell: ["host", "--source", "test", "--listen", "127.0.0.1:0", "--accept", "any", "&"])
        #expect(shell.waitUntil { $0.contains("? all keys") }, "\(shell.screen())")
        // In the background it neither reads keys nor changes the terminal's mode.
        try shell.type("echo typed-$((40 + 2))", "Enter")
        #expect(shell.waitUntil { $0.contains("typed-42") }, "\(shell.screen())")
        #expect(!shell.hasSingleKeys)
        try shell.type("fg", "Enter")
        #expect(eventually { shell.hasSingleKeys }, "\(shell.screen())")
        try shell.type("b")
        #expect(shell.waitUntil { $0.contains("share: blanked:") }, "\(shell.screen())")
        // Stopped, and continued in the background, it is found there again.
        try shell.type("C-z")
        try #require(shell.waitUntil { $0.contains("Stopped") }, "\(shell.screen())")
        try shell.type("bg; echo typed-$((41 + 2))", "Enter")
        #expect(shell.waitUntil { $0.contains("typed-43") }, "\(shell.screen())")
        #expect(!shell.hasSingleKeys)
        try shell.type("fg", "Enter")
        #expect(eventually { shell.hasSingleKeys }, "\(shell.screen())")
        try shell.type("b")
        #expect(shell.waitUntil { $0.contains("share: unblanked") }, "\(shell.screen())")
        try shell.type("C-c")
        #expect(shell.waitUntil { $0.contains("share: ended by Ctrl-C") }, "\(shell.screen())")
    }

    @Test func thereAreNoKeysWhereAProgramReadsTheOutput() throws {
        let terminal = try Terminal(shell: [
            "host", "--source", "test", "--listen", "127.0.0.1:0", "--accept", "any", "|", "cat",
        ])
        #expect(terminal.waitUntil { $0.contains("Ctrl-C ends it") && $0.contains("waiting") }, "\(terminal.screen())")
        #expect(!terminal.screen().contains("share: keys:"))
    }
}
