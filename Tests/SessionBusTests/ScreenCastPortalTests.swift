import BusSupport
import MediaCore
import SessionBus
import Testing

@Suite struct ScreenCastPortalTests {
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
