internal import CSDL
internal import LinuxRuntime
public import MediaCore

/// Watches the share button of the game controllers of this machine, those that are attached later too: "share" of an
/// Xbox controller, "create" of a PlayStation one, "capture" of a Switch one. Other controllers have "back" or
/// "select".
///
/// The thread `controller` asks them 30 times a second. Works without a window.
public final class ControllerButton: Sendable {
    private let isClosed: Monitor<Bool>
    private let thread: NamedThread

    private static let interval = MediaDuration.milliseconds(33)

    /// - Parameter onPress: called on the thread `controller` each time the button goes down.
    /// - Throws: if SDL cannot read controllers.
    public init(onPress: @escaping @Sendable () -> Void) throws(SourceFailure) {
        let isClosed = Monitor(false)
        self.isClosed = isClosed
        let failure = Monitor<SourceFailure??>(nil)
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start("controller") {
                // Also while another program has the focus.
                SDL_SetHint(SDL_HINT_JOYSTICK_ALLOW_BACKGROUND_EVENTS, "1")
                guard SDLLibrary.open(UInt32(SDL_INIT_GAMECONTROLLER)) else {
                    let message = SDLLibrary.lastError
                    return failure.change {
                        $0 = .some(SourceFailure(.unsupported, "controllers cannot be read: \(message)"))
                    }
                }
                // The window's event loop has no use for them.
                SDL_JoystickEventState(SDL_IGNORE)
                SDL_GameControllerEventState(SDL_IGNORE)
                failure.change { $0 = .some(nil) }
                var controllers = OpenControllers()
                while isClosed.wait(until: MonotonicClock.now + Self.interval, { $0 ? () : nil }) == nil {
                    if controllers.update() { onPress() }
                }
                controllers.close()
                SDLLibrary.close(UInt32(SDL_INIT_GAMECONTROLLER))
            }
        } catch {
            throw SourceFailure(.unsupported, "no thread is left for controllers")
        }
        if let failure = failure.wait({ $0 }) { throw failure }
    }

    /// Ends the thread. May be called twice.
    public func close() {
        let isFirst = isClosed.change { $0.setOnce() }
        if isFirst { thread.join() }
    }
}

/// The controllers that are open. Confined to one thread.
private struct OpenControllers {
    private struct Entry {
        var controller: OpaquePointer
        var isDown = false
    }

    /// By SDL's number of the device while it is attached.
    private var entries: [SDL_JoystickID: Entry] = [:]

    /// Looks at all controllers.
    /// - Returns: true if a button went down.
    mutating func update() -> Bool {
        SDL_GameControllerUpdate()
        openNew()
        var isPressed = false
        for (id, var entry) in entries {
            guard SDL_GameControllerGetAttached(entry.controller) == SDL_TRUE else {
                SDL_GameControllerClose(entry.controller)
                entries[id] = nil
                continue
            }
            let isDown = SDL_GameControllerGetButton(entry.controller, Self.button(of: entry.controller)) != 0
            isPressed = isPressed || isDown && !entry.isDown
            entry.isDown = isDown
            entries[id] = entry
        }
        return isPressed
    }

    private mutating func openNew() {
        for index in 0..<max(SDL_NumJoysticks(), 0) where SDL_IsGameController(index) == SDL_TRUE {
            let id = SDL_JoystickGetDeviceInstanceID(index)
            guard id >= 0, entries[id] == nil, let controller = SDL_GameControllerOpen(index) else { continue }
            entries[id] = Entry(controller: controller)
        }
    }

    private static func button(of controller: OpaquePointer) -> SDL_GameControllerButton {
        // Its MISC1 is the button of the microphone.
        guard SDL_GameControllerGetType(controller) != SDL_CONTROLLER_TYPE_PS5,
            SDL_GameControllerHasButton(controller, SDL_CONTROLLER_BUTTON_MISC1) == SDL_TRUE
        else { return SDL_CONTROLLER_BUTTON_BACK }
        return SDL_CONTROLLER_BUTTON_MISC1
    }

    mutating func close() {
        for entry in entries.values { SDL_GameControllerClose(entry.controller) }
        entries = [:]
    }
}
