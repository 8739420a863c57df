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
        _ state: BroadcastObject.State = .init(), handler: @escaping BroadcastObject.Handler = { _ in .done }
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
            "Controller",
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
            switch command {
            case .setMicrophone(true): return .refused(.init(.failed, "this broadcast has no microphone"))
            case .setRight(_, _, "Nobody"): return .refused(.init(.unknownViewer, "nobody watches as \"Nobody\""))
            case .setRight(_, _, "Ann"): return .refused(.init(.ambiguousViewer, "more than one viewer is meant"))
            default: return .done
            }
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
        #expect(try call("io.sharekit.Broadcast1.Grant", "string:2", "string:control") == "")
        #expect(try call("io.sharekit.Broadcast1.Revoke", "string:2", "string:point") == "")
        #expect(try call("io.sharekit.Broadcast1.TakeControlBack") == "")
        #expect(try call("io.sharekit.Broadcast1.Say", "string:Hello all") == "")
        #expect(try call("io.sharekit.Broadcast1.Say", "string:\(String(repeating: "\u{e9}", count: 500))") == "")
        #expect(
            commands.all.suffix(5).prefix(4) == [
                .setRight(.control, isGranted: true, viewer: "2"), .setRight(.point, isGranted: false, viewer: "2"),
                .takeControlBack, .say("Hello all"),
            ])
        let unknown = try call("io.sharekit.Broadcast1.Grant", "string:Nobody", "string:point")
        #expect(unknown.contains("io.sharekit.Error.UnknownViewer") && unknown.contains("nobody watches as"))
        #expect(
            try call("io.sharekit.Broadcast1.Grant", "string:Ann", "string:point").contains(
                "io.sharekit.Error.AmbiguousViewer"))
        object.close()
    }

    @Test func theViewersAreListedWithTheirRights() throws {
        let rights = ViewerRights(comment: .yes, point: .ask, control: .no)
        let object = try object { command in
            guard command == .listViewers else { return .done }
            return .viewers([
                .init(number: 3, name: "Ann", kind: "browser", address: "192.0.2.1", rights: rights),
                .init(number: 4, name: "OBS", kind: "player", address: "192.0.2.2", rights: nil),
            ])
        }
        let bus = try #require(BusConnection(address: address))
        func list() -> BusReply {
            bus.callAndWait(
                BroadcastObject.name, BroadcastObject.path, BroadcastObject.name, "ListViewers", milliseconds: 20_000)
        }
        guard case .values(let values) = list(), let viewers = values.first?.list else {
            Issue.record("no list")
            return
        }
        #expect(viewers.count == 2)
        #expect(viewers[0]["Number"]?.number == 3 && viewers[0]["Name"]?.text == "Ann")
        #expect(viewers[0]["Kind"]?.text == "browser" && viewers[0]["Address"]?.text == "192.0.2.1")
        #expect(["Comment", "Point", "Control"].map { viewers[0][$0]?.text } == ["yes", "ask", "no"])
        #expect(viewers[1]["Name"]?.text == "OBS" && viewers[1]["Comment"] == nil)
        bus.close()
        object.close()
    }

    @Test func rightsCommentsAndWhoControlsAreSignalled() throws {
        let monitor = try Program(
            "dbus-monitor", ["--address", address, "type='signal',path='/io/sharekit/Broadcast1'"])
        _ = monitor.line(seconds: 20) { $0.contains("NameAcquired") ? $0 : nil }
        var state = BroadcastObject.State()
        let object = try object(state)
        func viewer(_ number: Int, _ rights: ViewerRights?) -> BroadcastObject.Viewer {
            .init(number: number, name: "Viewer \(number)", kind: "share", address: "192.0.2.1", rights: rights)
        }
        state.audience = [viewer(1, ViewerRights.none), viewer(2, ViewerRights()), viewer(3, nil)]
        object.update(state)
        // One changes, one comes, one goes.
        state.audience = [viewer(2, ViewerRights(control: .yes)), viewer(3, nil), viewer(4, ViewerRights(point: .yes))]
        state.controller = "Viewer 2"
        object.update(state)
        object.tell(try #require(BroadcastComment(from: "Ann", "Hello")))
        object.tell(try #require(BroadcastComment(from: nil, "Welcome")))
        #expect(monitor.line(seconds: 20) { $0.contains("\"Welcome\"") ? $0 : nil } != nil, "\(monitor.text.output)")
        let lines = monitor.lines(.standard)
        #expect(lines.count { $0.contains("member=RightsChanged") } == 1, "\(lines)")
        #expect(lines.count { $0.contains("member=Commented") } == 2)
        #expect(lines.contains { $0.contains("\"Controller\"") })
        let begin = try #require(lines.firstIndex { $0.contains("member=RightsChanged") })
        let told = lines[begin...].prefix(17).joined()
        #expect(told.contains("uint32 2") && told.contains("\"Viewer 2\"") && told.contains("\"yes\""), "\(told)")
        #expect(try property("Controller") == "variant Viewer 2")
        object.close()
    }

    @Test(arguments: [
        (["Grant", "string:Ann", "string:everything"], "UnknownRight"),
        (["Revoke", "string:Ann", "string:"], "UnknownRight"),
        (["Grant", "string:\(String(repeating: "A", count: 257))", "string:point"], "UnknownViewer"),
        (["Say", "string:\(String(repeating: "a", count: 501))"], "TextTooLong"),
    ])
    func whatNamesNoRightOrIsTooLongReachesNobody(_ call: [String], _ error: String) throws {
        let commands = Commands()
        let object = try object { command in
            commands.add(command)
            return .done
        }
        let program = try Program(
            "dbus-send",
            [
                "--bus=\(address)", "--dest=io.sharekit.Broadcast1", "--print-reply", "/io/sharekit/Broadcast1",
                "io.sharekit.Broadcast1.\(call[0])",
            ] + call.dropFirst())
        _ = program.exitCode(seconds: 20)
        #expect(program.text.errors.contains("io.sharekit.Error.\(error)"), "\(program.text)")
        #expect(commands.all.isEmpty)
        object.close()
    }

    @Test(arguments: [
        (["io.sharekit.Broadcast1.Explode"], "UnknownMethod"),
        (["io.sharekit.Broadcast1.Stop", "string:now"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone", "string:true"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.SetMicrophone", "boolean:true", "boolean:true"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.Grant", "string:Ann"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.Revoke", "string:Ann", "int32:1"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.Say"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.Say", "array:string:a,b"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.ListViewers", "string:all"], "InvalidArgs"),
        (["io.sharekit.Broadcast1.TakeControlBack", "string:Ann"], "InvalidArgs"),
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
            return .done
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
                try BroadcastObject(address: address, .init()) { _ in .done }
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
