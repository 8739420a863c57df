import Foundation
import MediaCore
import Synchronization
import TestSupport
import Testing

@testable import SessionBus

/// The broadcast's object on a private session bus, asked by `dbus-send` and heard by `dbus-monitor`.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BroadcastObjectTests {
    private final class Commands: Sendable {
        private let state = Mutex<[BroadcastObject.Command]>([])

        func add(_ command: BroadcastObject.Command) { state.withLock { $0.append(command) } }

        var all: [BroadcastObject.Command] { state.withLock { $0 } }
    }

    private let daemon: Program
    private let address: String

    init() throws {
        daemon = try Program("dbus-daemon", ["--session", "--nofork", "--nopidfile", "--print-address=1"])
        guard let address = daemon.line(seconds: 20, { $0 }) else {
            throw Program.Failure("no bus: \(daemon.text.errors)")
        }
        self.address = address
    }

    private func object(
        _ state: BroadcastObject.State = .init(), handler: @escaping BroadcastObject.Handler = { _ in nil }
    ) throws -> BroadcastObject {
        try BroadcastObject(address: address, state, handler: handler)
    }

    /// Calls a method of the object.
    /// - Returns: the output, or the error.
    private func call(_ method: String, _ arguments: String...) throws -> String {
        let program = try Program(
            "dbus-send",
            [
                "--bus=\(address)", "--dest=io.sharekit.Broadcast1", "--print-reply=literal", "/io/sharekit/Broadcast1",
                method,
            ] + arguments)
        _ = program.exitCode(seconds: 20)
        return (program.text.output + program.text.errors).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func property(_ name: String) throws -> String {
        try call(
            "org.freedesktop.DBus.Properties.Get", "string:io.sharekit.Broadcast1", "string:\(name)"
        ).split(separator: " ").joined(separator: " ")
    }

    @Test func propertiesSayWhatTheBroadcastDoes() throws {
        var state = BroadcastObject.State()
        state.isBroadcasting = true
        state.isCaptured = true
        state.viewers = 2
        state.hasMicrophone = true
        state.service = "com.example.conference"
        let object = try object(state)
        #expect(try property("Captured") == "variant boolean true")
        #expect(try property("Broadcasting") == "variant boolean true")
        #expect(try property("Paused") == "variant boolean false")
        #expect(try property("Viewers") == "variant uint32 2")
        #expect(try property("Microphone") == "variant boolean true")
        #expect(try property("Service") == "variant com.example.conference")
        #expect(try property("Elapsed").hasPrefix("variant uint32 "))
        let all = try call("org.freedesktop.DBus.Properties.GetAll", "string:io.sharekit.Broadcast1")
        for name in [
            "Captured", "Broadcasting", "Paused", "Blanked", "Frozen", "Elapsed", "Viewers", "Microphone", "Service",
        ] {
            #expect(all.contains(name), "\(all)")
        }
        #expect(try call("org.freedesktop.DBus.Introspectable.Introspect").contains("SetMicrophone"))
        object.close()
        object.close()
        #expect(try property("Paused").contains("ServiceUnknown"))
    }

    @Test func aChangeIsSignalledWithTheNewValuesOnly() throws {
        let monitor = try Program(
            "dbus-monitor", ["--address", address, "type='signal',member='PropertiesChanged'"])
        _ = monitor.line(seconds: 20) { $0.contains("NameAcquired") ? $0 : nil }
        var state = BroadcastObject.State()
        let object = try object(state)
        object.update(state)
        state.holds = [.pause]
        state.viewers = 3
        object.update(state)
        let last = monitor.line(seconds: 20) { $0.contains("uint32 3") ? $0 : nil }
        #expect(last != nil, "\(monitor.text.output)")
        let lines = monitor.lines(.standard)
        #expect(lines.count { $0.contains("member=PropertiesChanged") } == 1)
        #expect(lines.contains { $0.contains("\"Paused\"") } && lines.contains { $0.contains("\"Viewers\"") })
        #expect(!lines.contains { $0.contains("\"Captured\"") || $0.contains("\"Elapsed\"") })
        object.close()
    }

    @Test func methodsAreCommandsAndAreAnsweredWhenTheyAreDone() throws {
        let commands = Commands()
        let object = try object { command in
            commands.add(command)
            return command == .setMicrophone(true) ? "this broadcast has no microphone" : nil
        }
        for method in ["Pause", "Resume", "Blank", "Unblank", "Freeze", "Unfreeze", "Stop"] {
            #expect(try call("io.sharekit.Broadcast1.\(method)") == "")
        }
        #expect(try call("io.sharekit.Broadcast1.SetMicrophone", "boolean:false") == "")
        let refused = try call("io.sharekit.Broadcast1.SetMicrophone", "boolean:true")
        #expect(refused.contains("io.sharekit.Error.Failed") && refused.contains("this broadcast has no microphone"))
        #expect(try call("io.sharekit.Broadcast1.Blank", "boolean:true").contains("InvalidArgs"))
        #expect(
            commands.all == [
                .hold(.pause, true), .hold(.pause, false), .hold(.blank, true), .hold(.blank, false),
                .hold(.freeze, true), .hold(.freeze, false), .stop, .setMicrophone(false), .setMicrophone(true),
            ])
        object.close()
    }

    @Test(arguments: [
        (["io.sharekit.Broadcast1.Explode"], "UnknownMethod"),
        (["io.sharekit.Broadcast1.Stop", "string:now"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone", "string:true"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone", "boolean:true", "boolean:true"], "InvalidArgs"),
        (["org.example.Other.Stop"], "UnknownInterface"),
        (
            ["org.freedesktop.DBus.Properties.Get", "string:io.sharekit.Broadcast1", "string:Nothing"],
            "UnknownProperty"
        ),
        (["org.freedesktop.DBus.Properties.Get", "string:org.example.Other", "string:Paused"], "UnknownInterface"),
        (["org.freedesktop.DBus.Properties.Get", "int32:1"], "UnknownMethod"),
        (
            [
                "org.freedesktop.DBus.Properties.Set", "string:io.sharekit.Broadcast1", "string:Paused",
                "variant:boolean:true",
            ], "PropertyReadOnly"
        ),
    ])
    func otherCallsAreRefusedAndChangeNothing(_ arguments: [String], _ error: String) throws {
        let commands = Commands()
        let object = try object { command in
            commands.add(command)
            return nil
        }
        let program = try Program(
            "dbus-send",
            ["--bus=\(address)", "--dest=io.sharekit.Broadcast1", "--print-reply", "/io/sharekit/Broadcast1"]
                + arguments)
        _ = program.exitCode(seconds: 20)
        #expect(program.text.errors.contains("org.freedesktop.DBus.Error.\(error)"), "\(program.text)")
        #expect(commands.all.isEmpty)
        object.close()
    }

    @Test func aNameThatIsTakenAndAMissingBusAreReported() throws {
        let first = try object()
        #expect(throws: BroadcastObject.Failure.nameIsTaken) { try object() }
        first.close()
        let second = try object()
        second.close()
        for address in ["unix:path=/nonexistent/bus", "nonsense", "", "autolaunch:"] {
            #expect(throws: BroadcastObject.Failure.noBus) {
                try BroadcastObject(address: address, .init()) { _ in nil }
            }
        }
    }

    @Test func aBusThatGoesAwayIsSurvived() throws {
        let object = try object()
        daemon.kill()
        _ = daemon.exitCode(seconds: 10)
        var state = BroadcastObject.State()
        state.holds = [.pause]
        object.update(state)
        object.close()
    }
}
