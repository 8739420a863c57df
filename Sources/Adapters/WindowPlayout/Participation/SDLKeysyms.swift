import CSDL

/// Reads keysyms where only SDL's events are known: of the character that follows a press, and of SDL's name for keys
/// that have none. A printable key without a character, as a dead one, is not told of, and neither is the right Alt
/// key.
struct SDLKeysyms {
    /// The key whose character has not come yet.
    private var pending: UInt32?

    /// - Returns: nil if the event is not about keys.
    mutating func keys(_ event: SDL_Event) -> [KeyEvent]? {
        switch SDL_EventType(event.type) {
        case SDL_KEYDOWN: return press(event.key.keysym)
        case SDL_KEYUP:
            let code = event.key.keysym.scancode.rawValue
            if pending == code { pending = nil }
            return [KeyEvent(code: code, keysym: 0, isPressed: false)]
        case SDL_TEXTINPUT: return type(Self.text(event.text))
        case SDL_TEXTEDITING: return []
        default: return nil
        }
    }

    private mutating func press(_ key: SDL_Keysym) -> [KeyEvent] {
        pending = nil
        let code = key.scancode.rawValue
        if let keysym = Self.named[Int(key.sym)] { return [KeyEvent(code: code, keysym: keysym, isPressed: true)] }
        guard let scalar = Unicode.Scalar(UInt32(bitPattern: key.sym)), key.sym >= 32, key.sym < 0x4000_0000 else {
            return []
        }
        // The right Alt key is AltGr on most layouts, whose characters SDL tells.
        let shortcut = UInt32(KMOD_CTRL.rawValue | KMOD_LALT.rawValue | KMOD_GUI.rawValue)
        let level = UInt32(KMOD_MODE.rawValue | KMOD_RALT.rawValue)
        guard UInt32(key.mod) & shortcut != 0, UInt32(key.mod) & level == 0 else {
            pending = code
            return []
        }
        // No character comes of a shortcut.
        var value = scalar.value
        if UInt32(key.mod) & UInt32(KMOD_SHIFT.rawValue) != 0,
            scalar.properties.uppercaseMapping.unicodeScalars.count == 1,
            let capital = scalar.properties.uppercaseMapping.unicodeScalars.first
        {
            value = capital.value
        }
        return [KeyEvent(code: code, keysym: Self.keysym(of: value), isPressed: true)]
    }

    /// The characters of a press, or those that an input method has written.
    private mutating func type(_ text: String) -> [KeyEvent] {
        let scalars = text.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }
        defer { pending = nil }
        if let pending, scalars.count == 1, let scalar = scalars.first {
            return [KeyEvent(code: pending, keysym: Self.keysym(of: scalar.value), isPressed: true)]
        }
        return scalars.flatMap { scalar in
            // No key of a keyboard has such a number.
            let (code, keysym) = (0x1000_0000 | scalar.value, Self.keysym(of: scalar.value))
            return [
                KeyEvent(code: code, keysym: keysym, isPressed: true),
                KeyEvent(code: code, keysym: keysym, isPressed: false),
            ]
        }
    }

    static func text(_ event: SDL_TextInputEvent) -> String {
        withUnsafeBytes(of: event.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// SDL's code of a key: of the English keyboard's letter where the layout has a letter of another script.
    static func latinKey(_ key: SDL_Keysym) -> Int {
        let letters = Int(SDL_SCANCODE_A.rawValue)...Int(SDL_SCANCODE_Z.rawValue)
        let scancode = Int(key.scancode.rawValue)
        // Beyond the Latin ones in Unicode, and no key without a character.
        guard (0x250..<0x4000_0000).contains(Int(key.sym)), letters.contains(scancode) else { return Int(key.sym) }
        return Int(SDLK_a.rawValue) + scancode - letters.lowerBound
    }

    /// The keysym of a character.
    static func keysym(of scalar: UInt32) -> UInt32 { scalar < 0x100 ? scalar : 0x0100_0000 | scalar }

    /// The keysyms of keys without a character, by SDL's code.
    private static let named: [Int: UInt32] = {
        var named: [Int: UInt32] = [
            8: 0xFF08, 9: 0xFF09, 13: 0xFF0D, 27: 0xFF1B, 127: 0xFFFF,
        ]
        func add(_ keys: [(SDL_KeyCode, UInt32)]) { for (key, keysym) in keys { named[Int(key.rawValue)] = keysym } }
        add([
            (SDLK_INSERT, 0xFF63), (SDLK_HOME, 0xFF50), (SDLK_END, 0xFF57), (SDLK_PAGEUP, 0xFF55),
            (SDLK_PAGEDOWN, 0xFF56), (SDLK_LEFT, 0xFF51), (SDLK_UP, 0xFF52), (SDLK_RIGHT, 0xFF53),
            (SDLK_DOWN, 0xFF54), (SDLK_PAUSE, 0xFF13), (SDLK_PRINTSCREEN, 0xFF61), (SDLK_APPLICATION, 0xFF67),
            (SDLK_CAPSLOCK, 0xFFE5), (SDLK_NUMLOCKCLEAR, 0xFF7F), (SDLK_SCROLLLOCK, 0xFF14),
        ])
        add([
            (SDLK_LSHIFT, 0xFFE1), (SDLK_RSHIFT, 0xFFE2), (SDLK_LCTRL, 0xFFE3), (SDLK_RCTRL, 0xFFE4),
            (SDLK_LALT, 0xFFE9), (SDLK_LGUI, 0xFFEB), (SDLK_RGUI, 0xFFEC),
        ])
        add([
            (SDLK_KP_ENTER, 0xFF8D), (SDLK_KP_MULTIPLY, 0xFFAA), (SDLK_KP_PLUS, 0xFFAB), (SDLK_KP_MINUS, 0xFFAD),
            (SDLK_KP_DIVIDE, 0xFFAF),
        ])
        for number in 0..<12 { named[Int(SDLK_F1.rawValue) + number] = 0xFFBE + UInt32(number) }
        return named
    }()
}
