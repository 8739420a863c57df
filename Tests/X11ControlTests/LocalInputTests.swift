import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import X11Control

/// An X server in a window of another one: what happens in the window is input of its own devices.
private final class NestedDisplay {
    let outer: VirtualDisplay
    let name: String
    private let server: Program

    init() throws {
        outer = try VirtualDisplay(width: 640, height: 480)
        server = try Program(
            "Xephyr", ["-displayfd", "1", "-screen", "640x480", "-nolisten", "tcp", "-noreset"],
            environment: ["DISPLAY": outer.name])
        guard let number = server.line(seconds: 20, { Int($0) }) else { throw Program.Failure("Xephyr did not start") }
        name = ":\(number)"
    }

    deinit { server.terminate() }
}

extension X11ControlTests {
    struct LocalInputTests {
        private static let whole = RemoteInput.Area.screen(PixelRect(x: 0, y: 0, width: 640, height: 480))

        @Test func whoUsesTheMachineGoesBeforeViewersForASecond() async throws {
            let nested = try NestedDisplay()
            let display = try ControlledDisplay(name: nested.name)
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            let told = Monitor(0)
            let input = try RemoteInput(display: nested.name, area: Self.whole) { event in
                if event == .localInput { told.change { $0 += 1 } }
            }
            input.apply(.move(PicturePoint(horizontal: 0.5, vertical: 0.5)))
            input.apply(.key(keysym: 0x61, isPressed: true))
            input.apply(.button(1, isPressed: true))
            #expect(eventually { display.heldMask & 0x100 != 0 && display.hasPressedKeys })
            #expect(told.with { $0 } == 0, "viewers' input is not local input")

            let start = MonotonicClock.now
            try nested.outer.run("xdotool", ["mousemove", "200", "200", "mousemove", "210", "210"])
            #expect(told.wait(until: start + .seconds(30)) { $0 > 0 ? () : nil } != nil)
            #expect(eventually { display.heldMask & 0x100 == 0 && !display.hasPressedKeys })
            // What viewers do now is dropped, until a second has passed without local input.
            #expect(
                eventually {
                    input.apply(.key(keysym: 0x62, isPressed: true))
                    return display.hasPressedKeys
                })
            #expect(MonotonicClock.now - start >= .seconds(1))
            input.close()
            #expect(!display.hasPressedKeys)
        }

        @Test func theKeyboardOfTheMachineIsLocalInput() throws {
            let nested = try NestedDisplay()
            let display = try ControlledDisplay(name: nested.name)
            let told = Monitor(0)
            let input = try RemoteInput(display: nested.name, area: Self.whole) { event in
                if event == .localInput { told.change { $0 += 1 } }
            }
            // The pointer over the window gives it the keyboard.
            try nested.outer.run("xdotool", ["mousemove", "300", "300"])
            let start = MonotonicClock.now
            #expect(told.wait(until: start + .seconds(30)) { $0 > 0 ? () : nil } != nil)
            // The hold that the pointer began ends first.
            #expect(
                eventually {
                    input.apply(.key(keysym: 0x62, isPressed: true))
                    return display.hasPressedKeys
                })
            try nested.outer.run("xdotool", ["key", "b"])
            #expect(told.wait(until: MonotonicClock.now + .seconds(30)) { $0 > 1 ? () : nil } != nil)
            input.close()
        }

        @Test func escapeOnTheMachinesKeyboardTakesTheControlBack() throws {
            let nested = try NestedDisplay()
            let display = try ControlledDisplay(name: nested.name)
            _ = display.window(x: 0, y: 0, width: 640, height: 480)
            let events = Monitor([RemoteInput.Event]())
            let input = try RemoteInput(display: nested.name, area: Self.whole) { event in
                events.change { $0.append(event) }
            }
            input.apply(.key(keysym: 0xFF1B, isPressed: true))
            #expect(eventually { display.hasPressedKeys })
            input.apply(.key(keysym: 0xFF1B, isPressed: false))
            #expect(eventually { !display.hasPressedKeys })
            #expect(events.with { $0 } == [], "Escape of a viewer is an input like others")

            try nested.outer.run("xdotool", ["mousemove", "300", "300", "key", "b"])
            let deadline = MonotonicClock.now + .seconds(30)
            #expect(events.wait(until: deadline) { $0.contains(.localInput) ? () : nil } != nil)
            try nested.outer.run("xdotool", ["key", "Escape"])
            #expect(events.wait(until: deadline) { $0.contains(.takenBack) ? () : nil } != nil)
            input.close()
            #expect(events.with { $0.filter { $0 == .takenBack } } == [.takenBack])
        }
    }
}
