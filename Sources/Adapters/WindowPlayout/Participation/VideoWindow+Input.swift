import CSDL
import LinuxRuntime
import MediaCore

/// Where the user's keys and mouse go: to the window, to the comment that is being written, or to the host.
extension VideoWindow {
    /// - Returns: whether the event was one of the keyboard or the mouse.
    func handleInput(_ event: inout SDL_Event) -> Bool {
        if interaction.mode == .controlling, let keys = keyReader.keys(&event) {
            for key in keys { control(key) }
            return true
        }
        switch SDL_EventType(event.type) {
        case SDL_KEYDOWN where interaction.line != nil: write(event.key.keysym)
        case SDL_KEYDOWN where pan(byKey: event.key.keysym.sym): break
        case SDL_KEYDOWN where event.key.repeat == 0: handleKey(event.key.keysym)
        case SDL_TEXTINPUT: interaction.line?.insert(SDLKeysyms.text(event.text))
        case SDL_TEXTEDITING:
            interaction.line?.composition = withUnsafeBytes(of: event.edit.text) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
        case SDL_MOUSEWHEEL: turn(event.wheel)
        case SDL_MOUSEMOTION: move(event.motion)
        case SDL_MOUSEBUTTONDOWN: press(event.button)
        case SDL_MOUSEBUTTONUP: release(event.button)
        default: return false
        }
        return true
    }

    /// Calls back with what is to be done now.
    func sendActions(_ now: MediaInstant) { for action in interaction.takeActions(now) { callbacks.onAction(action) } }

    // MARK: Mouse

    private func move(_ motion: SDL_MouseMotionEvent) {
        let (x, y) = (Int(motion.x), Int(motion.y))
        let isLeftDown = motion.state & 1 != 0
        if interaction.mode == .controlling {
            moveHint(y)
            return interaction.control.move(to: point(x, y, isClamped: interaction.control.isDragging))
        }
        view.bar.move(x: x, y: y, now: MonotonicClock.now)
        if view.bar.isPressed { return }
        switch interaction.mode {
        case .pointing:
            // The middle button moves the picture then.
            if motion.state & 2 != 0 { pan(x: -Int(motion.xrel), y: -Int(motion.yrel)) }
            let isOnBar = !isLeftDown && barButton(x: x, y: y) != nil
            interaction.pointing.move(x: x, y: y, isOnBar ? nil : point(x, y))
        case .watching where isLeftDown: pan(x: -Int(motion.xrel), y: -Int(motion.yrel))
        case .watching, .controlling: break
        }
    }

    private func press(_ button: SDL_MouseButtonEvent) {
        let (x, y) = (Int(button.x), Int(button.y))
        if interaction.mode == .controlling {
            if let number = Self.number(button) { interaction.control.press(number, at: point(x, y)) }
            return
        }
        guard button.button == 1 else { return }
        if let choice = barButton(x: x, y: y) {
            view.bar.isPressed = true
            return choose(choice)
        }
        switch interaction.mode {
        case .pointing: interaction.pointing.press(x: x, y: y, point(x, y))
        case .watching where button.clicks == 2: geometry.toggleFullscreen(window)
        case .watching, .controlling: break
        }
    }

    private func release(_ button: SDL_MouseButtonEvent) {
        if interaction.mode == .controlling {
            guard let number = Self.number(button) else { return }
            return interaction.control.release(number, at: point(Int(button.x), Int(button.y), isClamped: true))
        }
        guard button.button == 1 else { return }
        if view.bar.isPressed { view.bar.isPressed = false } else { interaction.pointing.release() }
    }

    /// As X11 numbers the buttons; nil for one that the host does not take.
    private static func number(_ button: SDL_MouseButtonEvent) -> UInt8? {
        switch button.button {
        case 1...3: button.button
        case 4, 5: button.button + 4
        default: nil
        }
    }

    private func turn(_ wheel: SDL_MouseWheelEvent) {
        guard interaction.mode == .controlling else { return pan(by: wheel) }
        interaction.control.turn(
            horizontal: Int(wheel.x), vertical: -Int(wheel.y), at: point(Int(wheel.mouseX), Int(wheel.mouseY)))
    }

    private func point(_ x: Int, _ y: Int, isClamped: Bool = false) -> PicturePoint? {
        layout?.point(x: x, y: y, isClamped: isClamped)
    }

    /// The hint makes room for the mouse.
    private func moveHint(_ y: Int) {
        var (width, height) = (Int32(0), Int32(0))
        SDL_GetWindowSize(window, &width, &height)
        if y < Int(height) / 5 { view.controlHint = .bottom }
        if y > Int(height) * 4 / 5 { view.controlHint = .top }
    }

    // MARK: Keys

    private func control(_ key: KeyEvent) {
        var isEnd = false
        if interaction.mode == .controlling {
            isEnd = interaction.control.key(key.code, keysym: key.keysym, isPressed: key.isPressed)
        }
        if isEnd { changeInteraction { $0.endControl() } }
    }

    /// A key while a comment is being written. Its characters come by themselves.
    private func write(_ key: SDL_Keysym) {
        let isControl = UInt32(key.mod) & UInt32(KMOD_CTRL.rawValue) != 0
        switch SDLKeysyms.latinKey(key) {
        case Int(SDLK_ESCAPE.rawValue): changeInteraction { $0.closeLine() }
        case Int(SDLK_RETURN.rawValue), Int(SDLK_KP_ENTER.rawValue): changeInteraction { $0.sendComment() }
        case Int(SDLK_BACKSPACE.rawValue): interaction.line?.deleteLast()
        case Int(SDLK_u.rawValue) where isControl: interaction.line?.clear()
        case Int(SDLK_v.rawValue) where isControl:
            guard let pasted = SDL_GetClipboardText() else { return }
            interaction.line?.insert(String(cString: pasted))
            SDL_free(pasted)
        default: break
        }
    }

    private func handleKey(_ key: SDL_Keysym) {
        // Modifier keys have the highest key codes. They do not close the window: they begin desktop shortcuts.
        let isModifier = (SDLK_LCTRL.rawValue...SDLK_RGUI.rawValue).contains(UInt32(bitPattern: key.sym))
        if isDismissible {
            isClosedByUser = isClosedByUser || !isModifier
            return
        }
        switch SDLKeysyms.latinKey(key) {
        case Int(SDLK_f.rawValue), Int(SDLK_F11.rawValue): choose(.fullscreen)
        case Int(SDLK_m.rawValue): choose(.mute)
        case Int(SDLK_s.rawValue): choose(.statistics)
        case Int(SDLK_F1.rawValue), Int(SDLK_QUESTION.rawValue): choose(.help)
        // SDL tells the key without Shift: "/" on English keyboards, "ß" on German ones.
        case Int(SDLK_SLASH.rawValue) where key.mod & 3 != 0, 0xDF where key.mod & 3 != 0: choose(.help)
        case Int(SDLK_1.rawValue), Int(SDLK_KP_1.rawValue): choose(.pictureSize)
        case Int(SDLK_p.rawValue) where interaction.isOffered: choose(.right(.point))
        case Int(SDLK_c.rawValue) where interaction.isOffered: choose(.right(.comment))
        case Int(SDLK_r.rawValue) where interaction.isOffered: choose(.right(.control))
        case Int(SDLK_g.rawValue): choose(.giveControlBack)
        case Int(SDLK_ESCAPE.rawValue): handleEscape()
        case Int(SDLK_q.rawValue): isClosedByUser = true
        default: break
        }
    }

    /// Ends what has come last: the help, pointing, full screen, the window.
    private func handleEscape() {
        if overlay.hasHelp {
            overlay.hasHelp = false
        } else if interaction.mode == .pointing {
            changeInteraction { $0.endPointing() }
        } else if geometry.isFullscreen {
            geometry.toggleFullscreen(window)
        } else {
            isClosedByUser = true
        }
    }
}
