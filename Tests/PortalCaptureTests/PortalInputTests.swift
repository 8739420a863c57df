import BusSupport
import Foundation
import LinuxRuntime
import MediaCore
import PixelConversion
import SessionBus
import TestSupport
import Testing

@testable import PortalCapture

extension PortalTests {
    @Suite struct InputTests {
        private func open(_ bed: PortalBed) throws(SourceFailure) -> (PortalScreen, ScreenCastPortal) {
            let tokens = ScreenCastPortal.TokenStore(load: { "old" }, save: { _ in Issue.record("a token was saved") })
            let cast = ScreenCastPortal(address: bed.bus.address, tokens: tokens, asksForInput: true)
            return (try PortalScreen(cast, converter: YUVConverter(), report: { _ in }), cast)
        }

        @Test func aViewersInputReachesTheDesktop() throws {
            let bed = try PortalBed(["size 800 600"])
            let (screen, cast) = try open(bed)
            #expect(bed.news.contains("devices 3"))
            // The desktop asks each time: nothing is restored, and nothing kept.
            #expect(bed.news.contains { $0.hasPrefix("select types 3") && $0.hasSuffix("persist 0") })
            let input = try PortalInput(cast, screen.grant, frameSize: screen.size)
            // The compositor's screen has a scale of 2.
            input.apply(.move(PicturePoint(horizontal: 1, vertical: 1)))
            input.apply(.button(3, isPressed: true))
            input.apply(.button(3, isPressed: false))
            input.apply(.wheel(horizontal: 0, vertical: 2))
            input.apply(.wheel(horizontal: -1, vertical: 0))
            for isPressed in [true, true, false] { input.apply(.key(keysym: 0x0100_0430, isPressed: isPressed)) }
            // Super is the window manager's.
            input.apply(.key(keysym: 0xFFEB, isPressed: true))
            input.apply(.key(keysym: 0xFFE1, isPressed: true))
            input.apply(.button(1, isPressed: true))
            input.close()
            input.apply(.button(1, isPressed: true))
            #expect(bed.hears("NotifyKeyboardKeysym 65505 0"))
            let expected = [
                "NotifyPointerMotionAbsolute \(screen.grant.node) 399.0 299.0", "NotifyPointerButton 273 1",
                "NotifyPointerButton 273 0", "NotifyPointerAxisDiscrete 0 2", "NotifyPointerAxisDiscrete 1 -1",
                "NotifyKeyboardKeysym 16778288 1", "NotifyKeyboardKeysym 16778288 0", "NotifyKeyboardKeysym 65505 1",
                "NotifyPointerButton 272 1", "NotifyPointerButton 272 0", "NotifyKeyboardKeysym 65505 0",
            ]
            #expect(bed.news.filter { $0.hasPrefix("Notify") } == expected)
            screen.close()
        }

        @Test func aPortalWithoutInputSaysSo() throws {
            let bed = try PortalBed(takesInput: false)
            var failure: SourceFailure?
            do throws(SourceFailure) { _ = try open(bed) } catch { failure = error }
            #expect(failure?.code == .unsupported)
            #expect(failure?.message.contains("pointer and the keyboard") == true)
        }

        @Test func inputThatIsNotGrantedIsAFailureInWords() throws {
            let bed = try PortalBed(["devices 0"])
            let (screen, cast) = try open(bed)
            let failure = #expect(throws: SourceFailure.self) {
                try PortalInput(cast, screen.grant, frameSize: screen.size)
            }
            #expect(failure?.code == .notPermitted)
            cast.send(.button(0x110, isPressed: true))
            screen.close()
            #expect(bed.hears("session closed by the application"))
            #expect(!bed.news.contains { $0.hasPrefix("Notify") })
        }
    }
}
