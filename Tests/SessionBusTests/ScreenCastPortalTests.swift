import BusSupport
import LinuxRuntime
import MediaCore
import SessionBus
import Testing

@Suite struct ScreenCastPortalTests {
    private static let (name, path) = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")

    /// Answers as a portal does, up to the connection to PipeWire.
    private func portal(_ bus: TestBus, inputVersion: UInt32) throws -> BusService {
        let portal = Monitor<BusConnection?>(nil)
        let requests = Monitor(0)
        @Sendable func respond(_ results: BusValue) -> [BusValue] {
            let request = Self.path + "/request/\(requests.with { $0 += 1; return $0 })"
            portal.with { $0 }?.signal(
                request, "org.freedesktop.portal.Request", "Response", [.uint32(0), results])
            return [.path(request)]
        }
        let service = try bus.service(Self.name) { call in
            switch call.member {
            case "GetAll":
                call.arguments.first?.text?.hasSuffix("RemoteDesktop") == true
                    ? [.dictionary(["version": .uint32(inputVersion), "AvailableDeviceTypes": .uint32(7)])]
                    : [.dictionary(["version": .uint32(4), "AvailableSourceTypes": .uint32(3)])]
            case "CreateSession": respond(.dictionary(["session_handle": .text(Self.path + "/session/1")]))
            case "SelectDevices", "SelectSources": respond(.dictionary([:]))
            case "Start": respond(.dictionary(["devices": .uint32(3), "restore_token": .text("new")]))
            default: nil
            }
        }
        portal.with { $0 = service.connection }
        return service
    }

    private func store(_ token: Monitor<String?>) -> ScreenCastPortal.TokenStore {
        .init(load: { token.with { $0 } }, save: { new in token.with { $0 = new } })
    }

    /// A grant of input is restored by a token of its own, where the portal gives one.
    @Test(arguments: [1, 2] as [UInt32])
    func aGrantOfInputHasATokenOfItsOwn(version: UInt32) throws {
        let bus = try TestBus()
        let portal = try portal(bus, inputVersion: version)
        let (tokens, inputTokens) = (Monitor<String?>("screen"), Monitor<String?>("input"))
        let cast = ScreenCastPortal(address: bus.address, tokens: store(tokens), inputTokens: store(inputTokens))
        // PipeWire is not there.
        #expect(throws: SourceFailure.self) { try cast.open(usesRestoring: true) }
        let devices = try #require(portal.call(of: "SelectDevices")?.arguments.last)
        let sources = try #require(portal.call(of: "SelectSources")?.arguments.last)
        #expect(devices["types"]?.number == 3)
        #expect(devices["restore_token"]?.text == (version == 2 ? "input" : nil))
        #expect(devices["persist_mode"]?.number == (version == 2 ? 2 : nil))
        // A session with input refuses to be restored by that for screens.
        #expect(sources["restore_token"] == nil && sources["persist_mode"] == nil)
        #expect(portal.call(of: "Start")?.interface == "org.freedesktop.portal.RemoteDesktop")
        #expect(tokens.with { $0 } == "screen" && inputTokens.with { $0 } == (version == 2 ? "new" : "input"))
    }

    @Test func busThatEndsBeforeThePortalHasAnsweredIsGone() throws {
        let bus = try TestBus()
        let portal = try bus.service("org.freedesktop.portal.Desktop") { _ in
            bus.kill()
            return nil
        }
        var failure: SourceFailure?
        do throws(SourceFailure) { _ = try ScreenCastPortal.abilities(address: bus.address) } catch { failure = error }
        #expect(portal.call(of: "GetAll") != nil)
        #expect(failure?.code == .displayGone)
    }
}
