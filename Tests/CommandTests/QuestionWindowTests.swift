import BusSupport
import Foundation
import TestSupport
import Testing

@testable import ShareKit

/// The questions of a host that has no terminal, in a small window.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct QuestionWindowTests {
    private let display: VirtualDisplay
    private let bus: TestBus

    init() throws {
        display = try VirtualDisplay(width: 800, height: 600)
        bus = try TestBus()
    }

    private func xdotool(_ arguments: String...) throws -> [String: Int] {
        let text = try Program("xdotool", arguments, environment: ["DISPLAY": display.name]).finish()
        var values: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=")
            if parts.count == 2 { values[String(parts[0])] = Int(parts[1]) }
        }
        return values
    }

    /// The place and the size of the window under the point where SDL puts the middle of a question; nil for the root.
    private func window() throws -> [String: Int]? {
        guard let window = try xdotool("mousemove", "400", "220", "getmouselocation", "--shell")["WINDOW"] else {
            return nil
        }
        let values = try xdotool("getwindowgeometry", "--shell", "\(window)")
        return values["WIDTH"].map { $0 < 800 } == true ? values : nil
    }

    /// Polls until the window is there, or has gone, for 20 s at most.
    private func window(isThere: Bool) throws -> [String: Int]? {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            let found = try window()
            if (found != nil) == isThere { return found ?? [:] }
        }
        return nil
    }

    /// Waits for the window, and presses its right button (accept) or its left one.
    private func answer(_ accepts: Bool) throws {
        let values = try #require(try window(isThere: true))
        let (left, top) = (try #require(values["X"]), try #require(values["Y"]))
        let (width, height) = (try #require(values["WIDTH"]), try #require(values["HEIGHT"]))
        let x = left + width / 2 + (accepts ? 70 : -70)
        // A click counts when the window has been drawn and has the pointer.
        try display.run("xdotool", ["mousemove", "\(x)", "\(top + height - 30)", "sleep", "0.3", "click", "1"])
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
        try answer(resumes)
        if resumes {
            #expect(host.process.event("resumed") != nil)
        } else {
            #expect(host.process.exitCode() == 0)
            #expect(host.process.event("ended")?["reason"] as? String == "ended after your session was locked")
        }
    }

    /// The window disappears when its question is answered elsewhere, when the session is locked again, and with its host.
    @Test func aQuestionThatIsTakenBackLeavesNoWindow() throws {
        let saver = try FakeScreenSaver(bus)
        let host = try HostedScreen(
            ["--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": display.name])
        #expect(saver.isObserved())
        saver.setActive(true)
        saver.setActive(false)
        #expect(try window(isThere: true) != nil)
        saver.setActive(true)
        #expect(try window(isThere: false) != nil)
        saver.setActive(false)
        #expect(try window(isThere: true) != nil)
        #expect(try ShareProcess(["resume"], in: host.folder).exitCode() == 0)
        #expect(try window(isThere: false) != nil)
        #expect(host.process.event("resumed") != nil)
        saver.setActive(true)
        saver.setActive(false)
        #expect(try window(isThere: true) != nil)
        host.process.interrupt()
        #expect(host.process.exitCode() == 0)
        #expect(try window(isThere: false) != nil)
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
        try answer(false)
        await #expect { try await declined.value } throws: { ($0 as? ShareKitError)?.code == .declined }
        #expect(!picker.isBroadcasting)

        async let started: Void = picker.startBroadcast()
        try answer(true)
        try await started
        #expect(picker.isBroadcasting && CaptureStatus(monitor).isCaptured)
        #expect(monitor.state.service == "com.example.conference Conference")
        #expect(service.event("first-picture") != nil)
        try await picker.stopBroadcast()
        #expect(service.event("broadcast-closed")?["code"] as? String == "hostEnded")
        #expect(!CaptureStatus(monitor).isCaptured)
    }
}
