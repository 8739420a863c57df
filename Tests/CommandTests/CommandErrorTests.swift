import Foundation
import TestSupport
import Testing

@testable import CommandSupport
@testable import RelayVerb
@testable import share

/// Errors before anything is shown. Each has a sentence and an exit code.
@Suite(.timeLimit(.minutes(3)))
struct CommandErrorTests {
    private func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil, of name: String = "share"
    ) throws -> (code: Int32?, words: String) {
        let process = try ShareProcess(arguments, environment: environment, input: input, of: name)
        let code = process.exitCode(seconds: 30)
        return (code, process.errorText)
    }

    @Test func noDisplay() throws {
        let result = try run(["host", "--accept", "any", "--display", ":9876"])
        #expect(result.code == 66)
        #expect(result.words.contains(":9876"))
    }

    @Test func noDisplayForTheWindow() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let result = try run(["join", host.link])
        #expect(result.code == 66)
        #expect(result.words.contains("--headless"))
    }

    @Test(arguments: [["--token", "fifteen-letters"], ["--token", ""], []])
    func tokensThatCouldBeGuessedAreRefused(_ arguments: [String]) throws {
        let result = try run(
            ["host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0"] + arguments,
            environment: arguments.isEmpty ? ["SHARE_TOKEN": "fifteen-letters"] : [:])
        #expect(result.code == 64)
        #expect(result.words.contains(arguments.first ?? "SHARE_TOKEN") && result.words.contains("16"))
    }

    @Test(arguments: [["--token", "sixteen--letters"], []])
    func hostSaysThatTheTokenAdmitsAnyone(_ arguments: [String]) throws {
        let result = try run(
            ["host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:0", "--for", "0.1"] + arguments,
            environment: arguments.isEmpty ? ["SHARE_TOKEN": "sixteen--letters"] : [:])
        #expect(result.code == 0)
        let line = "players with the token from \(arguments.first ?? "SHARE_TOKEN") join without a question"
        #expect(result.words.contains(line) && !result.words.contains("sixteen--letters"))
    }

    @Test func portInUse() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let port = try #require(URL(string: host.link)?.port)
        let result = try run(["host", "--source", "test", "--accept", "any", "--listen", "127.0.0.1:\(port)"])
        #expect(result.code == 69)
        #expect(result.words.contains("\(port)"))
    }

    @Test(arguments: ["nonsense", "https://127.0.0.1:1/ABC", "http://example.org/", ""])
    func mistypedLink(_ link: String) throws {
        let result = try run(["join", "--headless", "-"], input: link + "\n")
        #expect(result.code == 65)
        #expect(result.words.contains("link"))
    }

    @Test func cutOffLink() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let result = try run(["join", "--headless", String(host.link.dropLast(5))])
        #expect(result.code == 65)
    }

    @Test func wrongSecretIsRefusedWithoutAskingAnyone() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let result = try run(["join", "--headless", try host.link.withOtherSecret()])
        #expect(result.code == 77)
        #expect(host.process.lines.allSatisfy { !$0.contains("\"knock\"") })
    }

    @Test func anotherCertificateThanTheLinks() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let other = try HostedScreen(["--source", "test", "--audio", "none"])
        let ours = try #require(URLComponents(string: host.link))
        var mixed = try #require(URLComponents(string: other.link))
        mixed.port = ours.port
        let result = try run(["join", "--headless", try #require(mixed.string)])
        #expect(result.code == 76, "\(result.words)")
    }

    @Test func aClosedPortIsExplained() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        host.process.kill()
        let result = try run(["join", "--headless", host.link])
        #expect(result.code == 68)
        #expect(result.words.contains("nothing listens at port") && result.words.contains("the link is old"))
    }

    /// The host runs, but its broadcast is another one by now.
    @Test func aLinkOfAnEarlierBroadcast() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        var old = try #require(URLComponents(string: host.link))
        old.path = "/0123456789ABC"
        let result = try run(["join", "--headless", try #require(old.string)])
        #expect(result.code == 68)
        #expect(result.words.contains("this host shares, but not under this link"))
        #expect(result.words.contains("each run of share host has a new link"))
    }

    @Test func askingNeedsATerminal() throws {
        let result = try run(["host", "--source", "test"])
        #expect(result.code == 64)
        #expect(result.words.contains("--accept"))
    }

    @Test(arguments: [
        ["--fps", "0"], ["--bitrate", "1"], ["--listen", "nowhere"], ["--for", "-1"], ["--mode", "fast"],
        ["--for", "10x"],
        ["--for", "0m"], ["--for", "1e3"],
    ])
    func wrongArguments(_ arguments: [String]) throws {
        #expect(try run(["host", "--source", "test", "--accept", "any"] + arguments).code == 64)
    }

    @Test func unwritableSnapshot() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let result = try run(
            ["join", "--headless", "--for", "0.5", "--snapshot", "/nonexistent/folder/x.png", host.link])
        #expect(result.code == 73)
    }

    @Test func anUnwritableSnapshotIsReportedFirst() throws {
        let file = "/nonexistent/folder/x.png"
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        host.process.kill()
        // The host has ended, so a program that tried to connect would exit with 68.
        #expect(try run(["join", "--headless", "--snapshot", file, host.link]).code == 73)
        let demo = try run(["demo", "--snapshot", file], of: "share-lab")
        #expect(demo.code == 73)
        #expect(demo.words.contains(file) && !demo.words.contains("watching"))
    }

    @Test func anExistingFileStaysUntilAFrameIsSaved() throws {
        let folder = try TemporaryFolder()
        try Data("kept".utf8).write(to: URL(fileURLWithPath: folder.file("old.png")))
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        host.process.kill()
        for name in ["old.png", "new.png"] {
            let result = try run(["join", "--headless", "--snapshot", folder.file(name), host.link])
            #expect(result.code == 68)
            #expect(result.words.contains("nothing listens at port"))
        }
        #expect(try String(contentsOfFile: folder.file("old.png"), encoding: .utf8) == "kept")
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.png")))
    }

    @Test func theDoctorReportsADisplayThatDoesNotAnswer() throws {
        let process = try ShareProcess(["doctor", "--display", ":9876"])
        #expect(process.exitCode() == 1)
        #expect(process.lines.contains { $0.hasPrefix("missing window") }, "\(process.lines)")
        #expect(process.lines.contains { $0.hasPrefix("missing capture") })
    }

    @Test func anUnknownOptionIsReportedBeforeAMissingTerminal() throws {
        let result = try run(["host", "--source", "test", "--bogus"])
        #expect(result.code == 64)
        #expect(result.words.contains("--bogus") && !result.words.contains("terminal"), "\(result.words)")
    }

    @Test(arguments: [("90", 90.0), ("1.5s", 1.5), ("10m", 600), ("2h", 7_200)])
    func durationsHaveUnits(_ text: String, _ seconds: Double) {
        #expect(Timespan(argument: text)?.seconds == seconds)
    }

    @Test func theSecretIsNotInTheProcessList() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let fragment = try #require(host.link.split(separator: "#").last)
        let list = try Program("ps", ["-ww", "-eo", "args"]).finish()
        #expect(!list.contains(fragment))
        #expect(!viewer.errorText.contains(fragment) && !host.process.errorText.contains(fragment))
    }

    @Test func helpAndCompletions() throws {
        for arguments in [
            ["--help"], ["help", "host"], ["join", "--help"], ["--generate-completion-script", "bash"],
        ] {
            let process = try ShareProcess(arguments)
            #expect(process.exitCode() == 0)
            #expect(process.lines.count > 5)
        }
    }
}

extension String {
    /// The link with one bit of its secret inverted.
    fileprivate func withOtherSecret() throws -> String {
        let parts = split(separator: "#")
        let fragment = try #require(parts.last)
        var text = fragment.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        var bytes = try #require(Data(base64Encoded: text))
        bytes[bytes.startIndex + 3] ^= 1
        let changed = bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        return parts[0] + "#" + changed
    }
}
