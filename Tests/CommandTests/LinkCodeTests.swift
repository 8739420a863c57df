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
            ["host", "--source", "test", "--listen", "127.0.0.1:0"] + (isWanted ? [] : ["--no-qr"]))
        #expect(host.waitUntil { $0.contains("0 viewers") }, "\(host.screen())")
        let screen = host.screen()
        #expect(Self.finder.allSatisfy { screen.contains($0) } == isWanted, "\(screen)")
    }

    @Test func statusPrintsTheLinkOnceMoreWithItsCode() throws {
        let host = try HostedScreen(["--source", "test"])
        let status = try ShareProcess(["status", "--qr"], in: host.folder)
        #expect(status.exitCode() == 0, "\(status.errorText)")
        #expect(status.lines.first == host.link)
        #expect(Self.finder.allSatisfy { line in status.lines.contains { $0.contains(line) } }, "\(status.lines)")
    }
}
