import Foundation
import TestSupport
import Testing

/// The question in the terminal, answered in tmux as a person would.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct PromptTests {
    @Test func yesLetsTheViewerInAndNoDoesNot() throws {
        let terminal = try Terminal(["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"])
        let link = try #require(terminal.waitFor { $0.firstLink })
        let second = try terminal.join(link, name: "Bob")
        let words = try #require(second.event("knock")?["words"] as? String)
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Bob") })
        #expect(terminal.screen().contains(words))
        try terminal.type("n")
        #expect(second.exitCode(seconds: 10) == 77)
        #expect(second.errorText.contains("the host said no; you can ask again in 60 s"), "\(second.errorText)")
        #expect(terminal.screen().contains("they can ask again in 60 s"))
        let again = try terminal.join(link, name: "Bob")
        #expect(again.exitCode(seconds: 10) == 77)
        #expect(again.errorText.contains("the host said no; you can ask again in "), "\(again.errorText)")

        // With Bob's certificate she would get Bob's answer.
        let third = try terminal.join(link, name: "Carol", from: TemporaryFolder())
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Carol") })
        try terminal.type("y")
        #expect(third.event("first-picture", seconds: 10) != nil, "\(third.errorText)")
        #expect(terminal.waitFor { $0.contains("LIVE") && $0.contains("1 viewer") ? true : nil } == true)
    }

    @Test func whoIsLetInAlwaysIsKnownTheNextTime() throws {
        let terminal = try Terminal(["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"])
        let link = try #require(terminal.waitFor { $0.firstLink })
        let first = try terminal.join(link, name: "Dora")
        _ = try #require(terminal.waitFor { $0.isAsking(about: "Dora") })
        try terminal.type("a")
        _ = try #require(first.event("first-picture", seconds: 10))
        first.interrupt()
        // Where everybody else is asked about.
        let second = try terminal.join(link, name: "Dora again")
        #expect(second.event("first-picture", seconds: 10) != nil, "\(second.errorText)")
        #expect(terminal.screen().contains("Dora again (share, 127.0.0.1) is known and was let in without a question"))
        second.interrupt()
        let host = try ShareProcess(
            ["host", "--source", "test", "--audio", "none", "--accept", "known", "--listen", "127.0.0.1:0", "--json"],
            in: terminal.hostFolder)
        let again = try #require(host.event("link")?["link"] as? String)
        let known = try terminal.join(again, name: "Dora")
        #expect(known.event("first-picture", seconds: 10) != nil, "\(known.errorText)")
        #expect(host.event("accepted")?["remembered"] as? Bool == true)
        #expect(host.errorText.contains("Dora (share, 127.0.0.1) is known and was let in without a question"))
        // Another one with the same certificate, which is no secret, but without its key, is another viewer: see KnockTests.
        let stranger = try ShareProcess(["join", "--headless", "--json", again])
        #expect(stranger.exitCode(seconds: 10) == 77)
    }

    @Test func nobodyAnswersForAMinute() throws {
        let terminal = try Terminal(["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"])
        let link = try #require(terminal.waitFor { $0.firstLink })
        let viewer = try terminal.join(link, name: "Eve")
        #expect(viewer.exitCode(seconds: 75) == 75, "\(viewer.errorText)")
    }
}

/// `share` in a terminal of tmux's.
private final class Terminal {
    let hostFolder: TemporaryFolder
    private let viewerFolder: TemporaryFolder
    private let socket: String
    private let server: Program

    init(_ arguments: [String]) throws {
        hostFolder = try TemporaryFolder()
        viewerFolder = try TemporaryFolder()
        socket = hostFolder.file("tmux.socket")
        let command = try ([Program.share()] + arguments).map { "'\($0)'" }.joined(separator: " ")
        // In the foreground: a server that forks away would keep what we wait for open.
        server = try Program("tmux", ["-S", socket, "-f", "/dev/null", "-D"], environment: hostFolder.environment)
        while server.isRunning, !FileManager.default.fileExists(atPath: socket) {}
        try Program(
            "tmux", ["-S", socket, "new-session", "-d", "-x", "220", "-y", "50", "\(command); cat"],
            environment: hostFolder.environment
        ).finish()
    }

    deinit { _ = try? Program("tmux", ["-S", socket, "kill-server"]).finish() }

    func screen() -> String {
        let text = (try? Program("tmux", ["-S", socket, "capture-pane", "-p", "-J"]).finish()) ?? ""
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Looks at the screen again and again, for 15 s at most.
    func waitFor<Result>(_ found: (String) -> Result?) -> Result? {
        let deadline = Date(timeIntervalSinceNow: 15)
        while Date() < deadline {
            if let result = found(screen()) { return result }
        }
        return nil
    }

    func type(_ text: String) throws {
        try Program("tmux", ["-S", socket, "send-keys", text, "Enter"]).finish()
    }

    /// - Parameter folder: whose identity to join with; nil for the same each time.
    func join(_ link: String, name: String, from folder: TemporaryFolder? = nil) throws -> ShareProcess {
        try ShareProcess(
            ["join", "--headless", "--json", "--name", name], in: folder ?? viewerFolder,
            environment: ["SHARE_LINK": link])
    }
}

extension String {
    /// The screen, if its last line is the question about that person.
    fileprivate func isAsking(about name: String) -> String? {
        contains(name) && hasSuffix("[a]lways:") ? self : nil
    }

    fileprivate var firstLink: String? {
        split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("https://") && $0.contains("#") }.map(String.init)
    }
}
