import BusSupport
import Foundation
import TestSupport
import Testing

@testable import ShareKit

/// The questions of a host that has no terminal, in a small window.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct QuestionWindowTests {
    private let desktop: Desktop
    private let bus: TestBus
    private var display: VirtualDisplay { desktop.display }

    init() throws {
        desktop = try Desktop(width: 800, height: 600)
        bus = try TestBus()
    }

    @Test(arguments: [true, false])
    func onReturnToALockedSessionTheUserIsAskedInAWindow(_ resumes: Bool) throws {
        let saver = try FakeScreenSaver(bus)
        let host = try HostedScreen(
            ["--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": display.name])
        #expect(saver.isObserved())
        saver.setActive(true)
        #expect(host.process.event("paused") != nil)
        saver.setActive(false)
        if resumes { try desktop.acceptInShare() } else { try desktop.refuseInShare() }
        if resumes {
            #expect(host.process.event("resumed") != nil, "\(host.process.errorText)")
        } else {
            #expect(host.process.exitCode() == 0, "\(host.process.errorText)")
            #expect(host.process.event("ended")?["reason"] as? String == "ended after your session was locked")
        }
    }

    /// The window disappears when its question is answered elsewhere, when the session is locked again, and with its
    /// host.
    @Test func aQuestionThatIsTakenBackLeavesNoWindow() throws {
        let saver = try FakeScreenSaver(bus)
        let host = try HostedScreen(
            ["--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": display.name])
        #expect(saver.isObserved())
        saver.setActive(true)
        saver.setActive(false)
        #expect(try desktop.waitForShare(toAsk: true))
        saver.setActive(true)
        #expect(try desktop.waitForShare(toAsk: false))
        saver.setActive(false)
        #expect(try desktop.waitForShare(toAsk: true))
        #expect(try ShareProcess(["resume"], in: host.folder).exitCode() == 0)
        #expect(try desktop.waitForShare(toAsk: false))
        #expect(host.process.event("resumed") != nil)
        saver.setActive(true)
        saver.setActive(false)
        #expect(try desktop.waitForShare(toAsk: true))
        host.process.interrupt()
        #expect(host.process.exitCode() == 0)
        #expect(try desktop.waitForShare(toAsk: false))
    }

    /// As a desktop entry starts it: without a terminal, and nobody sees its output.
    @Test func aHostWithoutATerminalAsksAboutViewersInAWindow() throws {
        let folder = try TemporaryFolder()
        let environment = ["DISPLAY": display.name, "DBUS_SESSION_BUS_ADDRESS": bus.address]
        let host = try ShareProcess(
            ["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0", "--json"], in: folder,
            environment: environment)
        let link = try #require(host.event("link")?["link"] as? String, "\(host.errorText)")
        let refused = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": link])
        #expect(try desktop.waitForShare(toAsk: true))
        try desktop.refuseInShare()
        #expect(refused.exitCode() == 77, "\(refused.errorText)")
        let left = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": link])
        #expect(try desktop.waitForShare(toAsk: true))
        // Who leaves is not asked about any more.
        left.interrupt()
        #expect(try desktop.waitForShare(toAsk: false))
        let viewer = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": link])
        try desktop.acceptInShare()
        #expect(viewer.event("first-picture") != nil, "\(viewer.errorText)")
        let last = try ShareProcess(["join", "--headless", "--json"], environment: ["SHARE_LINK": link])
        #expect(try desktop.waitForShare(toAsk: true))
        // No window stays without its host.
        host.kill()
        #expect(try desktop.waitForShare(toAsk: false))
        last.kill()
    }

    /// Where nobody reads stdout, the link is in a window.
    @Test func aHostFromTheDesktopShowsItsLink() throws {
        let folder = try TemporaryFolder()
        let host = try ShareProcess(
            ["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"], in: folder,
            environment: ["DISPLAY": display.name])
        #expect(host.firstLine()?.hasPrefix("https://127.0.0.1:") == true)
        #expect(try desktop.waitForShare(toAsk: true))
        // Closing the window does not end the broadcast.
        try desktop.acceptInShare()
        #expect(try desktop.waitForShare(toAsk: false))
        #expect(host.isRunning)
        host.interrupt()
        #expect(host.exitCode() == 0)
    }

    /// An app starts the broadcast of the whole screen to one service, and stops it.
    @Test func anAppStartsAndStopsTheSystemBroadcast() async throws {
        let folder = try TemporaryFolder()
        let service = try ShareProcess([
            "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--listen",
            "127.0.0.1:0",
            "--json", "--accept", "any",
        ])
        let link = try #require(service.event("link")?["link"] as? String, "\(service.errorText)")
        #expect(try ShareProcess(["extension", "install", link], in: folder).exitCode() == 0)
        let monitor = SystemBroadcastMonitor(busAddress: bus.address)
        let environment = folder.environment.merging([
            "DISPLAY": display.name, "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SYSTEM_BUS_ADDRESS": "",
            "HOME": folder.path, "PATH": "/usr/bin:/bin",
        ]) { $1 }
        let picker = SystemBroadcastPicker(
            preferredExtension: "com.example.conference", program: try Program.share(), monitor: monitor,
            environment: environment)
        let declined = Task { try await picker.startBroadcast() }
        #expect(try desktop.waitForShare(toAsk: true))
        try desktop.refuseInShare()
        await #expect { try await declined.value } throws: { ($0 as? ShareKitError)?.code == .declined }
        #expect(!picker.isBroadcasting)

        async let started: Void = picker.startBroadcast()
        try desktop.acceptInShare()
        try await started
        #expect(eventually { picker.isBroadcasting && CaptureStatus(monitor).isCaptured })
        #expect(eventually { monitor.state.service == "com.example.conference Conference" })
        #expect(service.event("first-picture") != nil)
        try await picker.stopBroadcast()
        #expect(service.event("broadcast-closed")?["code"] as? String == "hostEnded")
        #expect(eventually { !CaptureStatus(monitor).isCaptured })
    }
}
