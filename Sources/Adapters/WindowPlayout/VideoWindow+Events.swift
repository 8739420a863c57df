import CSDL
import MediaCore
import Synchronization

/// Window events and keys.
extension VideoWindow {
    /// Handles events until none is left, also of those that a handler's round trip has brought into Xlib's queue: SDL
    /// does not look there again within one cycle of polling.
    func handleEvents() {
        for _ in 0..<Self.mostCycles { if !handleCycle() { return } }
        // More comes than is handled: the frame is next, and then the rest without a sleep.
        isSignalled = true
    }

    /// - Returns: whether there was an event.
    private func handleCycle() -> Bool {
        var event = SDL_Event()
        var isAny = false
        while SDL_PollEvent(&event) != 0 {
            isAny = true
            switch SDL_EventType(event.type) {
            case SDL_QUIT: isClosedByUser = true
            case SDL_KEYDOWN where pan(byKey: event.key.keysym.sym): break
            case SDL_KEYDOWN where event.key.repeat == 0: handleKey(event.key.keysym)
            case SDL_MOUSEWHEEL: pan(by: event.wheel)
            case SDL_MOUSEMOTION where event.motion.state & 1 != 0:
                pan(x: -Int(event.motion.xrel), y: -Int(event.motion.yrel))
            case SDL_MOUSEBUTTONDOWN where event.button.clicks == 2 && event.button.button == 1:
                geometry.toggleFullscreen(window)
            case SDL_WINDOWEVENT: handleWindow(event.window)
            case SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET: view.needsEverything = true
            default: if event.type == wakeup.eventType { isSignalled = true }
            }
        }
        return isAny
    }

    private static let mostCycles = 32

    private func handleKey(_ key: SDL_Keysym) {
        // Modifier keys have the highest key codes. They do not close the window: they begin desktop shortcuts.
        let isModifier = (SDLK_LCTRL.rawValue...SDLK_RGUI.rawValue).contains(UInt32(bitPattern: key.sym))
        if isDismissible {
            isClosedByUser = isClosedByUser || !isModifier
            return
        }
        switch Int(key.sym) {
        case Int(SDLK_f.rawValue), Int(SDLK_F11.rawValue): geometry.toggleFullscreen(window)
        case Int(SDLK_m.rawValue) where overlay.hasAudio:
            overlay.isMute.toggle()
            onMute(overlay.isMute)
        case Int(SDLK_s.rawValue):
            showsStatistics.toggle()
            // The statistics from before are out of date.
            commands.withLock { $0.statistics = showsStatistics ? "..." : nil }
            overlay.statistics = showsStatistics ? "..." : nil
            onStatistics(showsStatistics)
        case Int(SDLK_F1.rawValue), Int(SDLK_QUESTION.rawValue): overlay.hasHelp.toggle()
        // SDL tells the key without Shift: "/" on English keyboards, "ß" on German ones.
        case Int(SDLK_SLASH.rawValue) where key.mod & 3 != 0, 0xDF where key.mod & 3 != 0: overlay.hasHelp.toggle()
        case Int(SDLK_ESCAPE.rawValue) where overlay.hasHelp: overlay.hasHelp = false
        case Int(SDLK_1.rawValue), Int(SDLK_KP_1.rawValue): switchPictureSize()
        case Int(SDLK_ESCAPE.rawValue) where geometry.isFullscreen: geometry.toggleFullscreen(window)
        case Int(SDLK_q.rawValue), Int(SDLK_ESCAPE.rawValue): isClosedByUser = true
        default: break
        }
    }

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
        default: break
        }
    }
}
