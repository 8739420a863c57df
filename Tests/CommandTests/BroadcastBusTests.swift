import BusSupport
import Foundation
import SessionBus
import TestSupport
import Testing

/// A broadcast of the screen on the session bus, as other programs of the desktop see and control it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct BroadcastBusTests {
    private let bus: TestBus
    private let display: VirtualDisplay

    init() throws {
        bus = try TestBus()
        display = try VirtualDisplay(width: 320, height: 240)
    }

    private func host(
        _ arguments: [String] = [], address: String? = nil, environment: [String: String] = [:]
    ) throws -> HostedScreen {
        try HostedScreen(
            ["--display", display.name, "--audio", "none"] + arguments,
            environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": address ?? bus.address]) { $1 })
    }

    private func call(_ method: String, _ arguments: String...) throws -> String {
        try Program(
            "dbus-send",
            [
                "--bus=\(bus.address)", "--dest=io.sharekit.Broadcast1", "--print-reply=literal",
                "/io/sharekit/Broadcast1", method,
            ] + arguments
        ).finish().trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func property(_ name: String) throws -> String {
        try call("org.freedesktop.DBus.Properties.Get", "string:io.sharekit.Broadcast1", "string:\(name)")
    }

    /// Starts to watch the changes of properties on the bus.
    private func changes() throws -> Program {
        let signals = try Program(
            "dbus-monitor", ["--address", bus.address, "type='signal',member='PropertiesChanged'"])
        _ = try #require(signals.line(seconds: 20) { $0.contains("NameAcquired") ? $0 : nil })
        return signals
    }

    @Test func otherProgramsSeeAndControlTheBroadcast() throws {
        let signals = try changes()
        let host = try host()
        #expect(signals.line(seconds: 20) { $0.contains("\"Broadcasting\"") ? $0 : nil } != nil)
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(signals.line(seconds: 20) { $0.contains("uint32 1") ? $0 : nil } != nil)
        #expect(try property("Broadcasting").contains("boolean true"))
        #expect(try property("Viewers").contains("uint32 1"))
        _ = try call("io.sharekit.Broadcast1.Pause")
        #expect(host.process.event("paused") != nil && viewer.event("paused") != nil)
        #expect(signals.line(seconds: 20) { $0.contains("\"Paused\"") ? $0 : nil } != nil)
        #expect(try property("Paused").contains("boolean true") && property("Captured").contains("boolean false"))
        _ = try call("io.sharekit.Broadcast1.Resume")
        #expect(viewer.event("resumed") != nil)
        _ = try call("io.sharekit.Broadcast1.Stop")
        #expect(host.process.exitCode() == 0)
        #expect(host.process.event("ended")?["reason"] as? String == "ended over the session bus")
    }

    @Test func aMissingBusAndANameThatNoBroadcastHasAreSentencesOnly() throws {
        func check(_ host: HostedScreen, says text: String) {
            #expect(host.process.waitForError(text), "\(host.process.errorText)")
            host.process.interrupt()
            #expect(host.process.exitCode() == 0)
        }
        // Many machines have none, so that is said by share doctor alone.
        let without = try host(address: "")
        without.process.interrupt()
        #expect(without.process.exitCode() == 0)
        #expect(!without.process.errorText.contains("session bus"), "\(without.process.errorText)")
        check(try host(address: "unix:path=/nonexistent/bus"), says: "the session bus does not answer")
        let squatter = try bus.service("io.sharekit.Broadcast1")
        check(try host(), says: "a program that is no broadcast has the name io.sharekit.Broadcast1")
        _ = squatter
    }

    /// The test video shows nothing of the user's screen, so the bus does not know it.
    @Test func aHostOfTheTestVideoIsNotOnTheBus() throws {
        let video = try HostedScreen(
            ["--source", "test", "--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(try property("Broadcasting").isEmpty)
        let screen = try host()
        #expect(!video.process.errorText.contains("desktop programs"))
        #expect(!screen.process.errorText.contains("desktop programs"))
    }

    /// Where there is a tray, its menu pauses, resumes and stops.
    @Test func theTrayShowsTheBroadcastAndStopsIt() throws {
        let tray = try FakeTray(bus)
        tray.hearAll()
        let host = try host()
        let item = try #require(tray.item())
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        #expect(tray.signal("NewIcon") != nil)
        let toolTip = "Your screen is broadcast to 1 viewer"
        #expect(eventually { tray.properties(of: item)?["ToolTip"]?.list?.last?.text == toolTip })
        #expect(eventually { tray.menu(of: item).map(\.label).suffix(2) == ["Pause", "Stop the broadcast"] })
        tray.choose("Pause", of: item)
        #expect(viewer.event("paused") != nil)
        tray.choose("Stop the broadcast", of: item)
        #expect(host.process.exitCode() == 0)
        #expect(host.process.event("ended")?["reason"] as? String == "ended in the tray")
    }

    @Test func withoutATrayANotificationTellsThatTheScreenIsShown() throws {
        let desktop = try bus.service("org.freedesktop.Notifications") { call in
            call.member == "Notify" ? [.uint32(1)] : []
        }
        let host = try host()
        let viewer = try host.join()
        _ = try #require(viewer.event("first-picture"), "\(viewer.errorText)")
        let shown = try #require(desktop.call(of: "Notify"))
        #expect(shown.arguments[3].text == "Your screen is broadcast to 1 viewer")
        #expect(shown.arguments[4].text?.contains("share stop") == true)
        host.process.interrupt()
        #expect(host.process.exitCode() == 0)
        #expect(desktop.call(of: "CloseNotification") != nil)
    }

    /// Any program can mute the microphone. Unmuting needs the user's own command, and the desktop tells it.
    @Test func theBusMutesTheMicrophoneAndDoesNotUnmuteIt() throws {
        let sound = try PulseAudioServer()
        let desktop = try bus.service("org.freedesktop.Notifications") { call in
            call.member == "Notify" ? [.uint32(1)] : []
        }
        let host = try host(["--mic", "screen.monitor"], environment: ["PULSE_SERVER": sound.address])
        func microphone(_ isOn: Bool) throws -> Bool {
            for _ in 0..<2_000 where try property("Microphone").contains("boolean \(isOn)") { return true }
            return false
        }
        #expect(try microphone(true), "\(host.process.errorText)")
        _ = try call("io.sharekit.Broadcast1.SetMicrophone", "boolean:false")
        #expect(host.process.event("muted") != nil)
        #expect(try microphone(false))
        let unmute = try Program(
            "dbus-send",
            [
                "--bus=\(bus.address)", "--dest=io.sharekit.Broadcast1", "--print-reply", "/io/sharekit/Broadcast1",
                "io.sharekit.Broadcast1.SetMicrophone", "boolean:true",
            ])
        #expect(unmute.exitCode(seconds: 20) == 1)
        #expect(unmute.text.errors.contains("the microphone is unmuted by share unmute, or in the tray"))
        #expect(try property("Microphone").contains("boolean false"))
        let status = try ShareProcess(["status", "--json"], in: host.folder)
        #expect(status.exitCode() == 0 && status.lines.first?.contains("\"muted\":true") == true, "\(status.lines)")
        #expect(try ShareProcess(["unmute", "--mic"], in: host.folder).exitCode() == 0)
        let summary = "Your microphone is on in the broadcast"
        let told = desktop.message { $0.member == "Notify" && $0.arguments[3].text == summary }
        #expect(told?.arguments[4].text == "share mute --mic mutes it.")
        #expect(try microphone(true))
    }

    /// A service that receives the broadcast is named on the bus.
    @Test func theServiceIsNamedOnTheBus() throws {
        let folder = try TemporaryFolder()
        let service = try ShareProcess([
            "service", "--id", "com.example.conference", "--name", "Conference", "--headless", "--listen",
            "127.0.0.1:0",
            "--json", "--accept", "any",
        ])
        let link = try #require(service.event("link")?["link"] as? String, "\(service.errorText)")
        #expect(try ShareProcess(["extension", "install", link], in: folder).exitCode() == 0)
        let host = try Terminal(
            [
                "host", "--preferred-extension", "com.example.conference", "--display", display.name, "--audio", "none",
            ], environment: ["XDG_DATA_HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": bus.address, "DISPLAY": ""])
        #expect(host.waitUntil { $0.hasSuffix("[n]o:") }, "\(host.screen())")
        // A host that still asks keeps no other from broadcasting.
        let changes = try changes()
        let other = try self.host()
        #expect(changes.line(seconds: 20) { $0.contains("\"Broadcasting\"") ? $0 : nil } != nil)
        #expect(try property("Broadcasting").contains("boolean true"))
        other.process.interrupt()
        #expect(other.process.exitCode() == 0)
        let asking = try ShareProcess(["status"], in: host.hostFolder)
        #expect(asking.exitCode() == 0 && asking.lines.first?.contains("  asking  ") == true, "\(asking.lines)")
        try host.type("y", "Enter")
        #expect(service.event("first-picture") != nil)
        #expect(changes.line(seconds: 20) { $0.contains("com.example.conference Conference") ? $0 : nil } != nil)
        #expect(try property("Service").contains("com.example.conference Conference"))
    }
}
