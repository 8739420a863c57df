import CXCB
import MediaCore
import TestSupport
import Testing

@testable import X11Control

extension X11ControlTests {
    struct RemoteInputTests {
        private static let whole = RemoteInput.Area.screen(PixelRect(x: 0, y: 0, width: 640, height: 480))

        @Test func aClickAndAKeyArrive() throws {
            let display = try ControlledDisplay()
            _ = display.window(x: 100, y: 50, width: 200, height: 100)
            let input = try RemoteInput(display: display.name, area: Self.whole)
            input.apply(.move(PicturePoint(horizontal: 0.25, vertical: 0.25)))
            input.apply(.button(1, isPressed: true))
            input.apply(.button(1, isPressed: false))
            #expect(
                display.noted(2) == [
                    .button(1, isPressed: true, x: 159, y: 119), .button(1, isPressed: false, x: 159, y: 119),
                ])
            input.apply(.key(keysym: 0x61, isPressed: true))
            input.apply(.key(keysym: 0x61, isPressed: false))
            let keys = display.noted(2)
            guard case .key(let keycode, true)? = keys.first else {
                Issue.record("no key came: \(keys)")
                return
            }
            #expect(keys == [.key(keycode, isPressed: true), .key(keycode, isPressed: false)])
            #expect(display.keysyms(of: keycode).first == 0x61)
        }

        @Test func theWheelTurnsByNotches() throws {
            let display = try ControlledDisplay()
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            let input = try RemoteInput(display: display.name, area: Self.whole)
            input.apply(.move(PicturePoint(horizontal: 0, vertical: 1)))
            input.apply(.wheel(horizontal: -1, vertical: 2))
            let buttons = display.noted(6).compactMap { noted -> UInt8? in
                guard case .button(let button, true, 0, 479) = noted else { return nil }
                return button
            }
            #expect(buttons == [5, 5, 6])
        }

        /// The server repeats a key that is down; a character that is typed with Shift and released is the viewer's to
        /// repeat.
        @Test func repetitionsAreNotDoubled() throws {
            let display = try ControlledDisplay()
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            let input = try RemoteInput(display: display.name, area: Self.whole)
            for keysym: UInt32 in [0x61, 0x21] {
                for _ in 0..<5 { input.apply(.key(keysym: keysym, isPressed: true)) }
                input.apply(.key(keysym: keysym, isPressed: false))
            }
            // Two of the first key; of each character two, and two of Shift.
            let noted = display.noted(22)
            func presses(of keysym: UInt32) -> Int {
                noted.filter { event in
                    guard case .key(let keycode, true) = event else { return false }
                    return display.keysyms(of: keycode).contains(keysym)
                }.count
            }
            #expect(presses(of: 0x61) == 1)
            #expect(presses(of: 0x21) == 5)
        }

        /// What is held when the viewer goes is released: by `releaseAll`, and by the end of the value.
        @Test(arguments: [false, true]) func allThatIsHeldIsReleased(byEnd: Bool) throws {
            let display = try ControlledDisplay()
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            var input: RemoteInput? = try RemoteInput(display: display.name, area: Self.whole)
            input?.apply(.move(PicturePoint(horizontal: 0.5, vertical: 0.5)))
            for keysym: UInt32 in [0xFFE1, 0xFFE3, 0x78] { input?.apply(.key(keysym: keysym, isPressed: true)) }
            input?.apply(.button(1, isPressed: true))
            #expect(eventually { display.heldMask & 0x105 == 0x105 && display.hasPressedKeys })
            if byEnd {
                input = nil
            } else {
                input?.releaseAll()
            }
            #expect(eventually { display.heldMask & 0x1FFF == 0 && !display.hasPressedKeys })
            _ = input
        }

        @Test func noDisplayIsAnError() throws {
            let failure = #expect(throws: SourceFailure.self) { try RemoteInput(display: ":87654", area: Self.whole) }
            #expect(failure?.code == .noDisplay)
            let lacking = try VirtualDisplay(arguments: ["-extension", "XTEST"])
            let unsupported = #expect(throws: SourceFailure.self) {
                try RemoteInput(display: lacking.name, area: Self.whole)
            }
            #expect(unsupported?.code == .unsupported)
        }

        @Test func theEndOfTheServerIsTold() async throws {
            let display = try ControlledDisplay()
            let gone = Expectation("the event")
            let input = try RemoteInput(display: display.name, area: Self.whole) { event in
                if event == .displayGone { gone.fulfill() }
            }
            display.end()
            try await gone.wait()
            input.apply(.button(1, isPressed: true))
            input.close()
        }
    }
}
