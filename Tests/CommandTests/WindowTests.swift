import Foundation
import TestSupport
import Testing

/// The window of `share join`.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct WindowTests {
    private let display: VirtualDisplay

    init() throws { display = try VirtualDisplay(width: 800, height: 600) }

    private func join(_ link: String, _ arguments: [String] = []) throws -> ShareProcess {
        try ShareProcess(["join", "--json"] + arguments, environment: ["SHARE_LINK": link, "DISPLAY": display.name])
    }

    private func title() throws -> String {
        try Program(
            "xdotool", ["search", "--onlyvisible", "--name", " - share$", "getwindowname"],
            environment: ["DISPLAY": display.name]
        ).finish()
    }

    /// Presses a key each second until the viewer has ended, as SDL may miss one just after it has made its window.
    /// - Returns: its exit code.
    private func ends(_ viewer: ShareProcess, with key: String) throws -> Int32? {
        for _ in 0..<30 {
            try display.run("xdotool", ["mousemove", "400", "300", "key", key])
            if let code = viewer.exitCode(seconds: 1) { return code }
        }
        return nil
    }

    @Test func theWindowStaysWithTheReasonUntilAKeyIsPressed() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none", "--name", "Team meeting"])
        let viewer = try join(host.link)
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(try eventually { try title().contains("Team meeting - share") })
        host.process.interrupt()
        _ = try #require(viewer.event("ended"))
        #expect(host.process.exitCode() == 0)
        #expect(try eventually { try title().contains("Team meeting - share") })
        #expect(try ends(viewer, with: "x") == 0, "\(viewer.errorText)")
    }

    /// Without `--name`, host and viewer are called as their user and their machine.
    @Test func aReasonCanBeEndedBySignalToo() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try join(host.link)
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        func word(_ program: String, _ argument: String) throws -> String {
            try Program(program, [argument]).finish().trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let name = try "\(word("id", "-un"))@\(word("uname", "-n").prefix { $0 != "." })"
        #expect(try title().contains("\(name) - share"))
        #expect(host.process.event("connected")?["name"] as? String == name)
        host.process.kill()
        _ = try #require(viewer.event("ended"))
        viewer.interrupt()
        #expect(viewer.exitCode() == 74, "\(viewer.errorText)")
    }

    @Test func escapeEndsItAtOnce() throws {
        let host = try HostedScreen(["--source", "test", "--audio", "none"])
        let viewer = try join(host.link)
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(try ends(viewer, with: "Escape") == 0, "\(viewer.errorText)")
    }

    @Test func onTheDisplayThatIsSharedThereIsAWarningInsteadOfMirrors() throws {
        let host = try HostedScreen(["--display", display.name, "--audio", "none"])
        let viewer = try join(host.link)
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        viewer.interrupt()
        #expect(viewer.exitCode() == 0, "\(viewer.errorText)")
        #expect(viewer.errorText.contains("on the display that is being shared"))
        // On another display the window shows the screen.
        let other = try VirtualDisplay(width: 640, height: 480)
        let second = try ShareProcess(
            ["join", "--json"], environment: ["SHARE_LINK": host.link, "DISPLAY": other.name])
        _ = try #require(second.event("first-picture"), "\(second.errorText)")
        second.interrupt()
        #expect(second.exitCode() == 0)
        #expect(!second.errorText.contains("on the display that is being shared"))
    }

    @Test func theDemoSharesADisplayOfItsOwn() throws {
        let folder = try TemporaryFolder()
        let demo = try ShareProcess(
            ["demo", "--for", "2s"], in: folder, environment: ["DISPLAY": display.name], of: "share-lab")
        #expect(demo.exitCode(seconds: 60) == 0, "\(demo.errorText)")
        #expect(!demo.errorText.contains("display \(display.name) "))
        #expect(demo.errorText.contains("virtual display"))
    }

    /// `dbus-monitor` sees the notification that a desktop would get.
    @Test func aKnockShowsADesktopNotification() throws {
        let bus = try Program("dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=1"])
        let address = try #require(bus.line(seconds: 20) { $0 })
        let monitor = try Program("dbus-monitor", ["--address", address, "interface='org.freedesktop.Notifications'"])
        _ = try #require(monitor.line(seconds: 20) { $0.contains("NameAcquired") ? $0 : nil })
        let terminal = try Terminal(
            ["host", "--source", "test", "--audio", "none", "--listen", "127.0.0.1:0"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": address])
        let link = try #require(terminal.waitFor { $0.firstLink })
        let viewer = try terminal.join(link, name: "Ken")
        let line = monitor.line(seconds: 20) {
            $0.contains(#"string ""Ken" (share, 127.0.0.1) wants to watch""#) ? $0 : nil
        }
        #expect(line != nil, "\(monitor.text.output)")
        viewer.kill()
    }
}
