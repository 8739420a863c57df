import CSDL
import LinuxRuntime
import MediaCore
import Testing

@testable import WindowPlayout

/// The share button of a controller that SDL simulates.
@Suite(.serialized) struct ControllerButtonTests {
    @Test func eachPressIsReportedOnceAlsoOfAControllerThatComesLater() throws {
        let presses = Monitor(0)
        let button = try ControllerButton { presses.change { $0 += 1 } }
        let device = SDL_JoystickAttachVirtual(SDL_JOYSTICK_TYPE_GAMECONTROLLER, 6, 21, 0)
        try #require(device >= 0)
        let joystick = try #require(SDL_JoystickOpen(device))
        let controller = try #require(SDL_GameControllerOpen(device))
        let hasShare = SDL_GameControllerHasButton(controller, SDL_CONTROLLER_BUTTON_MISC1) == SDL_TRUE
        let share = hasShare ? SDL_CONTROLLER_BUTTON_MISC1 : SDL_CONTROLLER_BUTTON_BACK
        func set(_ button: SDL_GameControllerButton, _ isDown: Bool) {
            SDL_JoystickSetVirtualButton(joystick, button.rawValue, isDown ? 1 : 0)
        }
        func count(_ wanted: Int) -> Bool {
            presses.wait(until: MonotonicClock.now + .seconds(20)) { $0 == wanted ? () : nil } != nil
        }
        // Until its thread has seen a change, the next one is not made.
        func seen(_ button: SDL_GameControllerButton, _ isDown: Bool) -> Bool {
            for _ in 0..<500 {
                if (SDL_GameControllerGetButton(controller, button) != 0) == isDown { return true }
                _ = presses.wait(until: MonotonicClock.now + .milliseconds(10)) { $0 < 0 ? () : nil }
            }
            return false
        }
        set(share, true)
        #expect(count(1))
        set(share, false)
        #expect(seen(share, false))
        _ = presses.wait(until: MonotonicClock.now + .milliseconds(100)) { $0 > 1 ? () : nil }
        set(share, true)
        #expect(count(2))
        set(share, false)
        set(SDL_CONTROLLER_BUTTON_A, true)
        #expect(seen(SDL_CONTROLLER_BUTTON_A, true))
        #expect(presses.with { $0 } == 2)
        SDL_GameControllerClose(controller)
        SDL_JoystickClose(joystick)
        SDL_JoystickDetachVirtual(device)
        button.close()
        button.close()
    }
}
