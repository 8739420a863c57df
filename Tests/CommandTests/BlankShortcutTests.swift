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

    init() throws { bus = try TestBus() }

    /// - Parameters:
    ///   - version: nil: the portal has no global shortcuts.
    ///   - code: of the response to `BindShortcuts`: 0 granted, 1 dismissed.
    private func portal(version: UInt32? = 1, code: UInt32 = 0) throws -> BusService {
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
                    .text("blank"), .dictionary(["trigger_description": .text("Ctrl+Alt+B")]),
                ])
                return respond(2, code, .dictionary(["shortcuts": .array(of: "(sa{sv})", [bound])]))
            case "Close": return []
            default: return nil
            }
        }
        portal.with { $0 = service.connection }
        return service
    }

    private func press(_ service: BusService, session: String = session, id: String = "blank") {
        service.connection.signal(
            Self.path, Self.interface, "Activated", [.path(session), .text(id), .uint32(0), .dictionary([:])])
    }

    @Test func theKeyBlanksAndShowsAgain() throws {
        let portal = try portal()
        let broadcast = HeldBroadcast()
        let shortcut = BlankShortcut(broadcast, address: bus.address)
        let call = try #require(portal.call(of: "BindShortcuts"))
        #expect(call.arguments[0].text == Self.session)
        let wanted = call.arguments[1].list?.first?.list
        #expect(wanted?.first?.text == "blank")
        #expect(wanted?.last?["preferred_trigger"]?.text == "CTRL+ALT+b")
        press(portal)
        #expect(broadcast.waits(for: [[.blank]]))
        // Keys of others, and what another program says, do nothing.
        press(portal, session: Self.session + "2")
        press(portal, id: "other")
        let other = try bus.service()
        press(other)
        other.settle()
        portal.settle()
        press(portal)
        #expect(broadcast.waits(for: [[.blank], []]))
        shortcut.close()
        #expect(portal.call(of: "Close")?.path == Self.session)
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
