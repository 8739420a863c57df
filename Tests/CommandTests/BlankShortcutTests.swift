import BusSupport
import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionBus
import TestSupport
import Testing

@testable import share

/// The desktop's key that blanks a broadcast, with a portal of the test (org.freedesktop.portal.GlobalShortcuts).
@Suite(.serialized, .timeLimit(.minutes(1)))
struct BlankShortcutTests {
    private static let (name, path) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
    private static let session = "/org/freedesktop/portal/desktop/session/1_1/share"
    private static let interface = "org.freedesktop.portal.GlobalShortcuts"
    private let bus: TestBus
    /// The time of the program that has the key.
    private let now = Monitor(MediaInstant(nanoseconds: 0))

    init() throws { bus = try TestBus() }

    /// - Parameters:
    ///   - version: nil: the portal has no global shortcuts.
    ///   - code: of the response to `BindShortcuts`: 0 granted, 1 dismissed.
    ///   - key: how the desktop describes it.
    private func portal(version: UInt32? = 1, code: UInt32 = 0, key: String = "Ctrl+Alt+B") throws -> BusService {
        let portal = Monitor<BusConnection?>(nil)
        @Sendable func respond(_ number: Int, _ code: UInt32, _ results: BusValue) -> [BusValue] {
            let request = Self.path + "/request/\(number)"
            portal.with { $0 }?.signal(
                request, "org.freedesktop.portal.Request", "Response", [.uint32(code), results])
            return [.path(request)]
        }
        let service = try bus.service(Self.name) { call in
            switch call.member {
            case "GetAll": return [version.map { .dictionary(["version": .uint32($0)]) } ?? .dictionary([:])]
            case "CreateSession": return respond(1, 0, .dictionary(["session_handle": .text(Self.session)]))
            case "BindShortcuts":
                let bound = BusValue.tuple([
                    .text("blank"), .dictionary(["trigger_description": .text(key)]),
                ])
                return respond(2, code, .dictionary(["shortcuts": .array(of: "(sa{sv})", [bound])]))
            case "Close": return []
            default: return nil
            }
        }
        portal.with { $0 = service.connection }
        return service
    }

    /// - Parameters:
    ///   - pause: since the last signal.
    ///   - destination: nil: all that ask for such signals.
    private func press(
        _ service: BusService, session: String = session, id: String = "blank",
        after pause: MediaDuration = .seconds(10),
        _ signal: String = "Activated", to destination: String? = nil
    ) {
        now.with { $0 = $0 + pause }
        service.connection.signal(
            Self.path, Self.interface, signal, [.path(session), .text(id), .uint32(0), .dictionary([:])],
            to: destination)
    }

    /// Returns when the program has handled all that the service has sent before.
    private func settle(_ service: BusService, _ program: String) {
        _ = service.ask(program, "/", "org.freedesktop.DBus.Peer", "Ping")
    }

    private func shortcut(
        _ broadcast: HeldBroadcast, _ said: Monitor<[String]> = Monitor([])
    ) -> BlankShortcut {
        BlankShortcut(
            broadcast, address: bus.address, clock: { [now] in now.with { $0 } },
            say: { sentence in said.change { $0.append(sentence) } })
    }

    private func waiting(_ said: Monitor<[String]>) -> String? {
        said.wait(until: MonotonicClock.now + .seconds(20)) { $0.first }
    }

    @Test func theKeyBlanksAndShowsAgain() throws {
        let portal = try portal()
        let broadcast = HeldBroadcast()
        let said = Monitor<[String]>([])
        let shortcut = shortcut(broadcast, said)
        let call = try #require(portal.call(of: "BindShortcuts"))
        #expect(call.arguments[0].text == Self.session)
        let wanted = call.arguments[1].list?.first?.list
        #expect(wanted?.first?.text == "blank")
        #expect(wanted?.last?["preferred_trigger"]?.text == "CTRL+ALT+b")
        press(portal)
        #expect(broadcast.waits(for: [[.blank]]))
        #expect(waiting(said) == "\"Ctrl+Alt+B\" blanks the broadcast, and shows it again, from everywhere")
        // Keys of others do nothing.
        press(portal, session: Self.session + "2")
        press(portal, id: "other")
        press(portal)
        #expect(broadcast.waits(for: [[.blank], []]))
        shortcut.close()
        #expect(portal.call(of: "Close")?.path == Self.session)
        shortcut.close()
    }

    /// Sent to the program alone, a signal reaches it whatever it has asked for.
    @Test func whatAnotherProgramSaysPressesNothing() throws {
        let portal = try portal()
        let presses = Monitor(0)
        let shortcut = GlobalShortcut(address: bus.address, id: "blank", clock: { [now] in now.with { $0 } }) {
            presses.change { $0 += 1 }
        }
        #expect(try shortcut.bind(description: "Blank", preferred: "CTRL+ALT+b") == "Ctrl+Alt+B")
        let program = try #require(portal.call(of: "BindShortcuts")).sender
        let other = try bus.service()
        press(other, to: program)
        settle(other, program)
        #expect(presses.with { $0 } == 0)
        press(portal, to: program)
        settle(portal, program)
        #expect(presses.with { $0 } == 1)
        shortcut.close()
    }

    @Test func aKeyThatIsHeldIsPressedOnce() throws {
        let portal = try portal()
        let presses = Monitor(0)
        let shortcut = GlobalShortcut(address: bus.address, id: "blank", clock: { [now] in now.with { $0 } }) {
            presses.change { $0 += 1 }
        }
        _ = try shortcut.bind(description: "Blank", preferred: "CTRL+ALT+b")
        let program = try #require(portal.call(of: "BindShortcuts")).sender
        func send(_ signal: String, after pause: MediaDuration) {
            press(portal, after: pause, signal)
            settle(portal, program)
        }
        for _ in 0..<20 { send("Activated", after: .milliseconds(400)) }
        #expect(presses.with { $0 } == 1)
        send("Deactivated", after: .milliseconds(30))
        send("Activated", after: .milliseconds(400))
        #expect(presses.with { $0 } == 2)
        shortcut.close()
    }

    @Test func aPortalThatIsStartedAnewIsAskedForTheKeyAgain() throws {
        let broadcast = HeldBroadcast()
        let said = Monitor<[String]>([])
        var first: BusService? = try portal()
        let shortcut = shortcut(broadcast, said)
        #expect(waiting(said) != nil)
        if let first { press(first) }
        #expect(broadcast.waits(for: [[.blank]]))
        first = nil
        // The bus gives the name once it has noticed that the first has left.
        var next: BusService?
        #expect(
            eventually {
                next = try? portal()
                return next != nil
            })
        let second = try #require(next)
        // The program knows the session once it has asked for the key.
        #expect(second.call(of: "BindShortcuts") != nil)
        press(second)
        #expect(broadcast.waits(for: [[.blank], []]))
        #expect(said.with { $0.count } == 1)
        shortcut.close()
        #expect(second.call(of: "Close") != nil)
    }

    @Test func aKeyThatTheDesktopDoesNotNameIsNotClaimed() throws {
        let portal = try portal(key: "")
        let said = Monitor<[String]>([])
        let shortcut = shortcut(HeldBroadcast(), said)
        let sentence = try #require(waiting(said))
        #expect(sentence.contains("settings") && !sentence.uppercased().contains("ALT"), "\(sentence)")
        #expect(portal.call(of: "BindShortcuts") != nil)
        shortcut.close()
    }

    @Test func aDesktopWithoutSuchKeysIsNotAskedForOne() throws {
        let portal = try portal(version: nil)
        let shortcut = GlobalShortcut(address: bus.address, id: "blank", onPress: {})
        #expect(throws: SourceFailure.self) { try shortcut.bind(description: "Blank", preferred: "CTRL+ALT+b") }
        let calls = portal.messages(1) { $0.kind == .call }
        #expect(!calls.contains { $0.member == "CreateSession" })
    }

    @Test func whoDismissesTheQuestionHasNoKey() throws {
        let portal = try portal(code: 1)
        let shortcut = GlobalShortcut(address: bus.address, id: "blank", onPress: {})
        let failure = #expect(throws: SourceFailure.self) {
            try shortcut.bind(description: "Blank", preferred: "CTRL+ALT+b")
        }
        #expect(failure?.code == .notPermitted)
        #expect(portal.call(of: "Close") != nil)
    }
}

/// A broadcast that is held back, and has nothing else.
private final class HeldBroadcast: ControllableBroadcast {
    private let states = Monitor<[Set<BroadcastHold>]>([])

    func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool {
        states.change { states in
            let now = states.last ?? []
            states.append(isOn ? now.union([hold]) : now.subtracting([hold]))
        }
        return true
    }

    func holds() async -> Set<BroadcastHold> { states.with { $0.last } ?? [] }

    /// Waits until the holds have been these, one after the other, for 20 s at most.
    func waits(for wanted: [Set<BroadcastHold>]) -> Bool {
        states.wait(until: MonotonicClock.now + .seconds(20)) { $0.count >= wanted.count ? $0 : nil } == wanted
    }

    var audioTracks: [AudioTrackState] { [] }
    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool { false }
    func viewers() async -> [ViewerSessionInfo] { [] }
    func remove(viewer id: SessionID) async -> Int? { nil }
    func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) async throws(MediaSinkFailure) {}
    func remove(_ sink: any EncodedMediaSink) async {}
    func statistics() async -> HostStatistics? { nil }
    func stop(_ reason: EndReason) async {}
}
