import CSDL
import LinuxRuntime
import MediaCore
import Synchronization

/// A key that was pressed or released, or repeats.
struct KeyEvent: Equatable {
    /// The key on the keyboard, in numbers of its own.
    var code: UInt32
    /// 0: none.
    var keysym: UInt32
    var isPressed: Bool
}

/// Reads the keysyms of keys, which SDL does not tell.
///
/// On X11 it asks Xlib for the keysym of the key with the modifiers and the group of its event. With another display
/// it takes the characters that SDL tells after a press, and a table for the keys that have none.
/// - Isolation: main thread.
final class KeyReader {
    private let window: OpaquePointer
    /// Nil with another display than X11.
    private let display: UnsafeMutableRawPointer?
    private let library: DynamicLibrary?
    private var isReading = false
    private var fallback = SDLKeysyms()

    init(window: OpaquePointer) {
        self.window = window
        display = csdl_x11_display(window)
        library = display == nil ? nil : SDLLibrary.xlib
    }

    func start() {
        guard !isReading else { return }
        isReading = true
        if display == nil { SDL_StartTextInput() } else { SDL_EventState(UInt32(SDL_SYSWMEVENT.rawValue), SDL_ENABLE) }
        bypassInputMethod()
    }

    func stop() {
        guard isReading else { return }
        isReading = false
        removeFilter()
        if display == nil { SDL_StopTextInput() } else { SDL_EventState(UInt32(SDL_SYSWMEVENT.rawValue), SDL_DISABLE) }
        fallback = SDLKeysyms()
    }

    /// - Returns: the keys that an event tells of; nil if it is not about keys.
    func keys(_ event: inout SDL_Event) -> [KeyEvent]? {
        guard display != nil else { return fallback.keys(event) }
        switch SDL_EventType(event.type) {
        case SDL_SYSWMEVENT:
            var (code, keysym, isPressed) = (UInt32(0), UInt32(0), Int32(0))
            guard csdl_x11_key(&event, &code, &keysym, &isPressed) != 0 else { return [] }
            return [KeyEvent(code: code, keysym: unicode(keysym), isPressed: isPressed != 0)]
        // SDL's own reading of the same key.
        case SDL_KEYDOWN, SDL_KEYUP, SDL_TEXTINPUT, SDL_TEXTEDITING: return []
        default: return nil
        }
    }

    // MARK: X11

    /// Has keys pass that the input method would keep: dead keys, and those after them. Has to be called again when the
    /// window has got the keyboard, as SDL then gives it to the input method.
    func bypassInputMethod() {
        guard isReading, display != nil else { return }
        removeFilter()
        typealias Register =
            @convention(c) (UnsafeMutableRawPointer?, UInt, Int32, Int32, Filter, UnsafeMutableRawPointer?) -> Void
        changeFilter("_XRegisterFilterByType") { (register: Register) in
            register(
                display, csdl_x11_window(window), KeyPress, KeyRelease, Self.passing, nil)
        }
    }

    private func removeFilter() {
        typealias Unregister = @convention(c) (UnsafeMutableRawPointer?, UInt, Filter, UnsafeMutableRawPointer?) -> Void
        changeFilter("_XUnregisterFilter") { (unregister: Unregister) in
            unregister(display, csdl_x11_window(window), Self.passing, nil)
        }
    }

    /// Says whether Xlib is to keep an event from the program.
    private typealias Filter =
        @convention(c) (
            UnsafeMutableRawPointer?, UInt, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32

    private static let passing: Filter = { _, _, _, _ in 0 }

    /// Xlib has these functions for input methods, and no header declares them. Without them, dead keys are not read.
    private func changeFilter<Function>(_ name: String, _ body: (Function) -> Void) {
        guard let library, !SDLLibrary.isDisplayGone.load(ordering: .acquiring),
            let function: Function = try? library.function(name)
        else { return }
        body(function)
    }

    /// The keysym in the form that has the character's number in Unicode, if it is of an older character set.
    private func unicode(_ keysym: UInt32) -> UInt32 {
        typealias Convert = @convention(c) (UInt) -> UInt32
        guard (0x100..<0x2100).contains(keysym), let library,
            let convert: Convert = try? library.function("KeySymToUcs4")
        else { return keysym }
        let scalar = convert(UInt(keysym))
        return scalar == 0 ? keysym : SDLKeysyms.keysym(of: scalar)
    }
}
