import CXCB
import MediaCore
import TestSupport
import Testing

@testable import X11Control

extension X11ControlTests {
    struct ContainmentTests {
        private func click(_ input: RemoteInput, _ horizontal: Double, _ vertical: Double, button: UInt8 = 1) {
            input.apply(.move(PicturePoint(horizontal: horizontal, vertical: vertical)))
            for isPressed in [true, false] { input.apply(.button(button, isPressed: isPressed)) }
        }

        private func tap(_ input: RemoteInput, _ keysym: UInt32) {
            for isPressed in [true, false] { input.apply(.key(keysym: keysym, isPressed: isPressed)) }
        }

        /// Reads until this key was pressed and released.
        /// - Returns: the keys before it.
        private func keys(until keysym: UInt32, on display: ControlledDisplay) -> [UInt32] {
            var found: [UInt32] = []
            while found.last != keysym {
                guard case .key(let keycode, let isPressed)? = display.noted(1).first else { break }
                if !isPressed { found.append(display.keysyms(of: keycode).first ?? 0) }
            }
            return found.dropLast()
        }

        @Test func onlyWhatTheSharedWindowShowsIsClicked() throws {
            let display = try ControlledDisplay()
            let shared = display.window(x: 0, y: 0, width: 300, height: 300)
            _ = display.window(x: 10, y: 200, width: 50, height: 50, parent: shared)
            _ = display.window(x: 150, y: 0, width: 300, height: 300)
            let menu = display.window(x: 200, y: 200, width: 50, height: 50, isMenu: true)
            let other = try ControlledDisplay(name: display.name)
            _ = other.window(x: 100, y: 0, width: 40, height: 40, isMenu: true)
            let input = try RemoteInput(display: display.name, area: .window(shared))
            // Covered by another window, and by a menu of another program.
            click(input, 0.9, 0.1, button: 2)
            click(input, 0.4, 0.1, button: 3)
            click(input, 0.1, 0.1)
            // A child of it, and a menu of its own.
            click(input, 0.1, 0.7)
            click(input, 0.7, 0.7)
            let pressed = display.noted(6).compactMap { noted -> [Int]? in
                guard case .button(let button, true, let x, let y) = noted else { return nil }
                return [Int(button), x, y]
            }
            #expect(pressed == [[1, 29, 29], [1, 29, 209], [1, 209, 209]])
            // The window goes away below the viewer.
            xcb_unmap_window(display.connection, shared)
            xcb_unmap_window(display.connection, menu)
            display.sync()
            click(input, 0.1, 0.1)
            input.close()
            #expect(display.noted(1, seconds: 0.2).isEmpty)
            #expect(other.noted(1, seconds: 0).isEmpty)
        }

        @Test func aDragIsReleasedBeforeItReachesAnotherWindow() throws {
            let display = try ControlledDisplay()
            let shared = display.window(x: 0, y: 0, width: 300, height: 300)
            _ = display.window(x: 150, y: 0, width: 300, height: 300)
            let input = try RemoteInput(display: display.name, area: .window(shared))
            input.apply(.move(PicturePoint(horizontal: 0.1, vertical: 0.1)))
            input.apply(.button(1, isPressed: true))
            input.apply(.move(PicturePoint(horizontal: 0.4, vertical: 0.1)))
            // Each is awaited, as a move replaces the one before it.
            #expect(eventually { display.pointer == [119, 29] })
            input.apply(.move(PicturePoint(horizontal: 0.8, vertical: 0.1)))
            #expect(
                display.noted(2) == [
                    .button(1, isPressed: true, x: 29, y: 29), .button(1, isPressed: false, x: 119, y: 29),
                ])
        }

        @Test func keysGoToTheSharedWindowAlone() throws {
            let display = try ControlledDisplay()
            let shared = display.window(x: 0, y: 0, width: 300, height: 300)
            let child = display.window(x: 0, y: 0, width: 10, height: 10, parent: shared)
            let other = display.window(x: 310, y: 0, width: 300, height: 300)
            let input = try RemoteInput(display: display.name, area: .window(shared))
            display.focus(shared)
            tap(input, 0x61)
            #expect(keys(until: 0x61, on: display).isEmpty)
            display.focus(other)
            tap(input, 0x62)
            // A click is seen, so the key before it was looked at.
            click(input, 0.5, 0.5)
            _ = display.noted(2)
            display.focus(child)
            tap(input, 0x63)
            #expect(keys(until: 0x63, on: display).isEmpty)
        }

        @Test func shortcutsOfTheDesktopAreKeptFromWindowsAndRegions() throws {
            let display = try ControlledDisplay()
            let shared = display.window(x: 0, y: 0, width: 300, height: 300)
            let region = RemoteInput.Area.screen(PixelRect(x: 0, y: 0, width: 400, height: 400))
            let alt: UInt32 = 0xFFE9
            for area in [RemoteInput.Area.window(shared), region] {
                let input = try RemoteInput(display: display.name, area: area)
                input.apply(.key(keysym: alt, isPressed: true))
                tap(input, 0xFF09)
                tap(input, 0x61)
                #expect(keys(until: 0x61, on: display).isEmpty)
                input.close()
                #expect(keys(until: alt, on: display).isEmpty)
            }
            let whole = RemoteInput.Area.screen(PixelRect(x: 0, y: 0, width: 640, height: 480))
            let input = try RemoteInput(display: display.name, area: whole)
            input.apply(.key(keysym: alt, isPressed: true))
            tap(input, 0xFF09)
            tap(input, 0x61)
            #expect(keys(until: 0x61, on: display) == [0xFF09])
        }

        @Test func aWindowInTheFrameOfAWindowManagerIsReached() throws {
            let display = try ControlledDisplay()
            let folder = try TemporaryFolder()
            let manager = try Program(
                "openbox", ["--sm-disable"],
                environment: ["DISPLAY": display.name, "HOME": folder.path, "XDG_CONFIG_HOME": folder.path])
            defer { manager.kill() }
            let shared = display.window(x: 50, y: 50, width: 200, height: 100)
            try #require(eventually { display.parent(of: shared).map { $0 != display.root } ?? false })
            let input = try RemoteInput(display: display.name, area: .window(shared))
            #expect(
                eventually {
                    click(input, 0.5, 0.5)
                    return display.noted(1, seconds: 0.2).count == 1
                })
            #expect(eventually { display.focused == shared })
            tap(input, 0x61)
            var last = display.noted(1).first
            while case .button? = last { last = display.noted(1).first }
            guard case .key(let keycode, true)? = last else {
                Issue.record("no key came")
                return
            }
            #expect(display.keysyms(of: keycode).first == 0x61)
        }

        @Test func aRegionIsAllThatAViewerReaches() throws {
            let display = try ControlledDisplay()
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            let region = RemoteInput.Area.screen(PixelRect(x: 100, y: 50, width: 200, height: 100))
            let input = try RemoteInput(display: display.name, area: region)
            click(input, 0, 0)
            click(input, 1, 1)
            let places = display.noted(4).compactMap { noted -> [Int]? in
                guard case .button(1, true, let x, let y) = noted else { return nil }
                return [x, y]
            }
            #expect(places == [[100, 50], [299, 149]])
            // A window outside of it has the keyboard.
            _ = display.window(x: 400, y: 300, width: 100, height: 100)
            tap(input, 0x61)
            click(input, 0, 0)
            #expect(display.noted(1) == [.button(1, isPressed: true, x: 100, y: 50)])
        }
    }
}
