import CSDL
import Glibc
import LinuxRuntime
import MediaCore
import Synchronization

/// Initializes SDL and its subsystems. A lock serializes the calls, as SDL counts subsystems without one.
enum SDLLibrary {
    private static let lock = Mutex<Void>(())
    /// Set when the connection to the X server broke. SDL's window functions must not be called afterwards.
    static let isDisplayGone = Atomic<Bool>(false)

    static var lastError: String { String(cString: SDL_GetError()) }

    /// - Parameter part: SDL_INIT_VIDEO or SDL_INIT_AUDIO.
    /// - Returns: false on failure; `lastError` has the reason.
    static func open(_ part: UInt32) -> Bool {
        lock.withLock { _ in
            SDL_SetMainReady()
            // The program handles SIGINT and SIGTERM itself.
            SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
            SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
            SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0")
            SDL_SetHint(SDL_HINT_APP_NAME, "share")
            SDL_SetHint(SDL_HINT_AUDIO_DEVICE_APP_NAME, "share")
            return SDL_InitSubSystem(part) == 0
        }
    }

    static func close(_ part: UInt32) {
        lock.withLock { _ in
            if part == UInt32(SDL_INIT_VIDEO), isDisplayGone.load(ordering: .acquiring) { return }
            SDL_QuitSubSystem(part)
        }
    }

    /// The Xlib that SDL has loaded; nil with another display.
    static var xlib: DynamicLibrary? { DynamicLibrary(loaded: "libX11.so.6") }

    /// Installs Xlib error handlers, as Xlib ends the process by default when its connection breaks.
    /// - Parameter display: the window's connection.
    static func surviveDisplayLoss(_ display: UnsafeMutableRawPointer) {
        typealias Handler = @convention(c) (UnsafeMutableRawPointer?) -> Int32
        typealias SetHandler = @convention(c) (Handler?) -> UnsafeMutableRawPointer?
        typealias ExitHandler = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
        typealias SetExitHandler =
            @convention(c) (UnsafeMutableRawPointer?, ExitHandler?, UnsafeMutableRawPointer?) -> Void
        // A write to a broken connection must be an error, not SIGPIPE; an existing handler stays.
        if let previous = signal(SIGPIPE, SIG_IGN) { signal(SIGPIPE, previous) }
        guard let library = xlib, let setHandler: SetHandler = try? library.function("XSetIOErrorHandler"),
            let setExitHandler: SetExitHandler = try? library.function("XSetIOErrorExitHandler")
        else { return }
        _ = setHandler({ _ in
            SDLLibrary.isDisplayGone.store(true, ordering: .releasing)
            return 0
        })
        // The default handler calls exit(1). After this handler, calls on the connection do nothing.
        setExitHandler(display, { _, _ in SDLLibrary.isDisplayGone.store(true, ordering: .releasing) }, nil)
    }
}
