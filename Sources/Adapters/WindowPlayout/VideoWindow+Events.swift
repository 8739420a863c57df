import CSDL
import LinuxRuntime
import MediaCore
import Synchronization

/// Window events.
extension VideoWindow {
    /// Handles events until none is left, also of those that a handler's round trip has brought into Xlib's queue: SDL
    /// does not look there again within one cycle of polling.
    /// - Returns: whether there was an event.
    @discardableResult
    func handleEvents() -> Bool {
        var isAny = false
        for _ in 0..<Self.mostCycles {
            guard handleCycle() else {
                sendActions(MonotonicClock.now)
                return isAny
            }
            isAny = true
        }
        // More comes than is handled: the frame is next, and then the rest without a sleep.
        isSignalled = true
        sendActions(MonotonicClock.now)
        return true
    }

    /// - Returns: whether there was an event.
    private func handleCycle() -> Bool {
        var event = SDL_Event()
        var isAny = false
        while SDL_PollEvent(&event) != 0 {
            isAny = true
            if handleInput(&event) { continue }
            switch SDL_EventType(event.type) {
            case SDL_QUIT: isClosedByUser = true
            case SDL_WINDOWEVENT: handleWindow(event.window)
            case SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET: view.needsEverything = true
            default: if event.type == wakeup.eventType { isSignalled = true }
            }
        }
        return isAny
    }

    private static let mostCycles = 32

    private func handleWindow(_ event: SDL_WindowEvent) {
        switch SDL_WindowEventID(UInt32(event.event)) {
        case SDL_WINDOWEVENT_CLOSE: isClosedByUser = true
        case SDL_WINDOWEVENT_HIDDEN, SDL_WINDOWEVENT_MINIMIZED: view.isHidden = true
        case SDL_WINDOWEVENT_SHOWN, SDL_WINDOWEVENT_RESTORED, SDL_WINDOWEVENT_MAXIMIZED, SDL_WINDOWEVENT_EXPOSED:
            view.isHidden = false
            view.needsEverything = true
        case SDL_WINDOWEVENT_SIZE_CHANGED:
            geometry.sizeChanged(to: PixelSize(width: Int(event.data1), height: Int(event.data2)))
            view.needsEverything = true
        case SDL_WINDOWEVENT_FOCUS_GAINED: keyReader.bypassInputMethod()
        case SDL_WINDOWEVENT_FOCUS_LOST: interaction.loseFocus()
        case SDL_WINDOWEVENT_LEAVE:
            view.bar.leave()
            interaction.pointing.leave()
        default: break
        }
    }
}
