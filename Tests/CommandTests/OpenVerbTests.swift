import TestSupport
import Testing

/// Links of the scheme `share`, as a desktop opens them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct OpenVerbTests {
    private func opened(_ link: String) -> String { "share" + link.dropFirst("https".count) }

    @Test func whoAgreesWatches() throws {
        let desktop = try Desktop(width: 900, height: 700)
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let environment = ["DISPLAY": desktop.display.name]
        let viewer = try ShareProcess(["open", opened(host.link)], in: host.folder, environment: environment)
        #expect(try desktop.waitForShare(toAsk: true))
        // Nothing is known to the host before.
        #expect(host.process.lines.allSatisfy { !$0.contains("knock") })
        // A second link is not asked about meanwhile.
        let second = try ShareProcess(["open", opened(host.link)], in: host.folder, environment: environment)
        #expect(second.exitCode() == 0, "\(second.errorText)")
        try desktop.acceptInShare()
        #expect(host.process.event("connected") != nil, "\(host.process.errorText) \(viewer.errorText)")
        #expect(viewer.isRunning)
    }

    @Test func whoRefusesIsNotSeen() throws {
        let desktop = try Desktop(width: 900, height: 700)
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try ShareProcess(
            ["open", opened(host.link)], in: host.folder, environment: ["DISPLAY": desktop.display.name])
        try desktop.refuseInShare()
        #expect(viewer.exitCode() == 78, "\(viewer.errorText)")
        #expect(host.process.lines.allSatisfy { !$0.contains("knock") && !$0.contains("accepted") })
    }

    @Test func aPageWithManyWrongLinksGetsOneWindow() throws {
        let desktop = try Desktop(width: 900, height: 700)
        let folder = try TemporaryFolder()
        let environment = ["DISPLAY": desktop.display.name]
        let first = try ShareProcess(["open", "share://nonsense"], in: folder, environment: environment)
        #expect(try desktop.waitForShare(toAsk: true))
        for _ in 0..<3 {
            let next = try ShareProcess(["open", "share://nonsense"], in: folder, environment: environment)
            #expect(next.exitCode() == 0, "\(next.errorText)")
        }
        try desktop.refuseInShare()
        #expect(first.exitCode() == 65, "\(first.errorText)")
    }

    @Test func withoutADisplayNothingIsJoined() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try ShareProcess(["open", opened(host.link)], in: host.folder)
        #expect(viewer.exitCode() == 66, "\(viewer.errorText)")
        let pasted = try ShareProcess(["open", host.link], in: host.folder)
        #expect(pasted.exitCode() == 65, "\(pasted.errorText)")
        let option = try ShareProcess(["open", "--headless", opened(host.link)], in: host.folder)
        #expect(option.exitCode() == 64, "\(option.errorText)")
        #expect(host.process.lines.allSatisfy { !$0.contains("knock") && !$0.contains("accepted") })
    }
}
