import Foundation
import TestSupport
import Testing

/// The link as a QR code, for a telephone.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct LinkCodeTests {
    /// The upper edge of a finder pattern, and its lower edge.
    private static let finder = ["█▀▀▀▀▀█", "▀▀▀▀▀▀▀"]

    @Test(arguments: [true, false]) func aHostShowsItInATerminal(isWanted: Bool) throws {
        let host = try Terminal(
            ["host", "--source", "test", "--listen", "127.0.0.1:0"] + (isWanted ? [] : ["--no-qr"]),
            environment: ["NO_COLOR": "1"])
        #expect(host.waitUntil { $0.contains("0 viewers") }, "\(host.screen())")
        let screen = host.screen()
        #expect(Self.finder.allSatisfy { screen.contains($0) } == isWanted, "\(screen)")
    }

    /// zbar reads it from a picture of the terminal, as a telephone does.
    @Test func aReaderReadsItFromTheScreen() throws {
        let display = try VirtualDisplay(width: 1000, height: 900)
        let folder = try TemporaryFolder()
        let host = try Program(
            "xterm",
            ["-u8", "-fa", "Monospace", "-fs", "10", "-geometry", "118x52", "-e"]
                + [Program.share(), "host", "--source", "test", "--listen", "127.0.0.1:0"],
            environment: ["DISPLAY": display.name, "LC_ALL": "C.UTF-8", "NO_COLOR": nil]
                .merging(folder.environment) { $1 })
        let picture = folder.file("screen.png")
        var text = ""
        _ = try eventually {
            let capture = try Program(
                "ffmpeg",
                [
                    "-loglevel", "error", "-f", "x11grab", "-video_size", "1000x900", "-i", display.name, "-frames:v",
                    "1",
                ]
                    + ["-y", picture])
            guard capture.exitCode(seconds: 20) == 0 else { return false }
            let reader = try Program("zbarimg", ["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", picture])
            guard reader.exitCode(seconds: 20) == 0 else { return false }
            text = reader.text.output
            return true
        }
        #expect(text.hasPrefix("https://127.0.0.1:"), "\(text)")
        withExtendedLifetime(host) {}
    }

    /// tmux keeps what a program copies as a buffer.
    @Test(arguments: [true, false]) func theTerminalCopiesTheLinkIfAsked(isAsked: Bool) throws {
        let host = try Terminal(
            ["host", "--source", "test", "--listen", "127.0.0.1:0"] + (isAsked ? ["--copy"] : []))
        #expect(host.waitUntil { $0.contains("0 viewers") }, "\(host.screen())")
        let link = try #require(host.screen().firstLink)
        #expect(host.clipboard == (isAsked ? link : ""))
    }

    @Test func statusPrintsTheLinkOnceMoreWithItsCode() throws {
        let host = try HostedScreen(["--source", "test"])
        let status = try ShareProcess(["status", "--qr"], in: host.folder)
        #expect(status.exitCode() == 0, "\(status.errorText)")
        #expect(status.lines.first == host.link)
        #expect(Self.finder.allSatisfy { line in status.lines.contains { $0.contains(line) } }, "\(status.lines)")
    }
}
