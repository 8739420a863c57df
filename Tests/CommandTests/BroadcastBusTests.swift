import Foundation
import TestSupport
import Testing

/// A broadcast on the session bus, as other programs of the desktop see and control it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BroadcastBusTests {
    private let daemon: Program
    private let address: String

    init() throws {
        daemon = try Program("dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=1"])
        guard let address = daemon.line(seconds: 20, { $0 }) else {
            throw Program.Failure("no bus: \(daemon.text.errors)")
        }
        self.address = address
    }

    private func host() throws -> HostedScreen {
        try HostedScreen(
            ["--source", "test", "--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": address])
    }

    private func call(_ method: String, _ arguments: String...) throws -> String {
        try Program(
            "dbus-send",
            [
                "--bus=\(address)", "--dest=io.sharekit.Broadcast1", "--print-reply=literal", "/io/sharekit/Broadcast1",
                method,
            ] + arguments
        ).finish().trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func property(_ name: String) throws -> String {
        try call("org.freedesktop.DBus.Properties.Get", "string:io.sharekit.Broadcast1", "string:\(name)")
    }

    @Test func otherProgramsSeeAndControlTheBroadcast() throws {
        let signals = try Program("dbus-monitor", ["--address", address, "type='signal',member='PropertiesChanged'"])
        _ = signals.line(seconds: 5) { $0.contains("NameAcquired") ? $0 : nil }
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
        #expect(host.process.exitCode(seconds: 10) == 0)
        #expect(host.process.event("ended")?["reason"] as? String == "ended over the session bus")
    }

    @Test func aTakenNameAndAMissingBusAreSentencesOnly() throws {
        let first = try host()
        let begun = daemonHasName()
        #expect(begun)
        let second = try host()
        let viewer = try second.join()
        #expect(viewer.event("first-picture") != nil)
        #expect(second.process.waitForError("desktop programs see another broadcast"), "\(second.process.errorText)")
        #expect(!first.process.errorText.contains("desktop programs"))
        let alone = try HostedScreen(
            ["--source", "test", "--audio", "none"], environment: ["DBUS_SESSION_BUS_ADDRESS": ""])
        #expect(alone.process.waitForError("there is no session bus"), "\(alone.process.errorText)")
        let broken = try HostedScreen(
            ["--source", "test", "--audio", "none"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        #expect(broken.process.waitForError("the session bus does not answer"), "\(broken.process.errorText)")
        for host in [first, second, alone, broken] {
            host.process.interrupt()
            #expect(host.process.exitCode(seconds: 10) == 0)
        }
    }

    /// Waits until a host has taken the name.
    private func daemonHasName() -> Bool {
        for _ in 0..<200 {
            if (try? property("Broadcasting").contains("boolean true")) == true { return true }
        }
        return false
    }
}
