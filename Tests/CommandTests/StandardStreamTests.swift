import Foundation
import TestSupport
import Testing

/// Programs whose descriptors are closed, or cannot be written, and the keys that end them.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct StandardStreamTests {
    private static let host = [
        "host", "--source", "test", "--audio", "none", "--accept", "any", "--listen", "127.0.0.1:0",
    ]

    /// Runs `share` from a shell that redirects its descriptors.
    private func run(_ arguments: [String], _ redirections: String) throws -> Program {
        let folder = try TemporaryFolder()
        let words = try ([Program.share()] + arguments).map { "'\($0)'" }.joined(separator: " ")
        return try Program(
            "sh", ["-c", "exec \(words) \(redirections)"],
            environment: folder.environment.merging(["DISPLAY": "", "SHARE_LINK": ""]) { $1 })
    }

    @Test(arguments: ["<&-", ">&-", "<&- >&-", "2>&-", "<&- >&- 2>&-"])
    func aVerbWithClosedDescriptorsEndsAsOtherwise(_ redirections: String) throws {
        // No broadcast is running.
        #expect(try run(["status"], redirections).exitCode(seconds: 30) == 72)
        // A viewer that finds no host.
        #expect(try run(["join", "--headless", "https://127.0.0.1:1/"], redirections).exitCode(seconds: 30) == 65)
    }

    @Test func aHostWithoutStdinRuns() throws {
        let host = try run(Self.host + ["--for", "1"], "<&-")
        #expect(host.exitCode(seconds: 30) == 0, "\(host.text.errors)")
        #expect(host.text.output.hasPrefix("https://127.0.0.1:"))
    }

    @Test(arguments: [">&-", ">/dev/full"], [[], ["--json"]])
    func aLinkThatCannotBeWrittenEndsTheHost(_ redirection: String, _ more: [String]) throws {
        let host = try run(Self.host + more, redirection)
        #expect(host.exitCode(seconds: 30) == 73, "\(host.text.errors)")
        #expect(host.text.errors.contains("the link is lost"), "\(host.text.errors)")
    }

    @Test(arguments: [["--help"], ["help", "host"], ["doctor"], ["--version"]])
    func outputThatIsLostIsNoSuccess(_ arguments: [String]) throws {
        let program = try run(arguments, ">/dev/full")
        let code = program.exitCode(seconds: 30)
        #expect(code != 0 && code != nil && (code ?? 0) < 128, "\(program.text.errors)")
        #expect(program.text.errors.contains("stdout cannot be written: No space left on device"))
    }

    /// The handler of Swift's runtime would print a crash, and the host would go on.
    @Test func ctrlBackslashEndsTheHost() throws {
        let terminal = try Terminal(["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"])
        _ = try #require(terminal.waitFor { $0.contains("waiting 00:") && $0.firstLink != nil ? $0 : nil })
        try terminal.type("C-\\")
        #expect(terminal.waitUntil { $0.contains("share: ended by Ctrl-\\") }, "\(terminal.screen())")
        #expect(!terminal.screen().contains("Crash"))
    }

    /// Nothing is glued to the link, to the status line or to the shell's prompt.
    @Test func eachLineOfATerminalBeginsAtItsLeft() throws {
        let folder = try TemporaryFolder()
        let host = try Terminal(shell: [
            "host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0", "--accept", "any", "--for", "20",
        ])
        let link = try #require(host.waitFor { $0.firstLink })
        #expect(host.screen().split(separator: "\n").contains { $0 == Substring(link) })
        let file = folder.file("a.webm")
        let recorder = try Terminal(shell: ["record", "'\(link)'", "-o", file, "--for", "2"])
        let screen = recorder.waitFor { screen in
            screen.contains("share: recorded \(file): 00:00:0") && screen.hasSuffix("ready>") ? screen : nil
        }
        let lines = try #require(screen, "\(recorder.screen())").split(separator: "\n")
        #expect(lines.last == "ready>" && !lines.contains { $0.contains("REC") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("share: the time is over") })
        try host.type("C-c")
        #expect(host.waitUntil { $0.hasSuffix("\nready>") }, "\(host.screen())")
        #expect(!host.screen().contains("LIVE") && !host.screen().contains("waiting 00"))
    }
}
