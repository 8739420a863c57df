import CSDL
import MediaCore

/// Controls the size, position and full-screen state of the window.
/// - Isolation: main thread.
struct WindowGeometry {
    private var frame: PixelSize?
    /// The size that was requested last. If the window has another size, the user resized it, and it is left alone.
    private var requested: PixelSize?
    private var isResizedByUser = false
    private(set) var isFullscreen = false
    private var beforeFullscreen: SDL_Rect?

    init() {}

    func makeWindow(title: String) throws(SourceFailure) -> OpaquePointer {
        let room = Self.screen(usable: true)
        let centered = Int32(bitPattern: SDL_WINDOWPOS_CENTERED_MASK)
        let window = SDL_CreateWindow(
            title, centered, centered, Int32(min(960, room.width)), Int32(min(540, room.height)),
            SDL_WINDOW_SHOWN.rawValue | SDL_WINDOW_RESIZABLE.rawValue)
        guard let window else {
            throw SourceFailure(.noDisplay, "No window can be opened: \(SDLLibrary.lastError).")
        }
        SDL_SetWindowMinimumSize(window, 64, 36)
        return window
    }

    /// Resizes the window to the size of a new frame, unless the user has resized it.
    /// - Returns: whether the window was resized.
    mutating func adopt(_ size: PixelSize, _ window: OpaquePointer) -> Bool {
        guard size != frame else { return false }
        frame = size
        guard !isFullscreen, !isResizedByUser else { return false }
        let screen = Self.screen(usable: false)
        if size == screen {
            SDL_SetWindowBordered(window, SDL_FALSE)
            requested = size
            SDL_SetWindowSize(window, Int32(size.width), Int32(size.height))
            SDL_SetWindowPosition(window, 0, 0)
            return true
        }
        SDL_SetWindowBordered(window, SDL_TRUE)
        var room = Self.screen(usable: true)
        var top = Int32(0)
        var left = Int32(0)
        var bottom = Int32(0)
        var right = Int32(0)
        if SDL_GetWindowBordersSize(window, &top, &left, &bottom, &right) == 0 {
            room.width -= Int(left + right)
            room.height -= Int(top + bottom)
        }
        var fitting = size
        if size.width > room.width || size.height > room.height {
            let place = Letterbox(frame: size, window: room).place
            fitting = PixelSize(width: place.width, height: place.height)
        }
        requested = fitting
        let centered = Int32(bitPattern: SDL_WINDOWPOS_CENTERED_MASK)
        SDL_SetWindowSize(window, Int32(fitting.width), Int32(fitting.height))
        SDL_SetWindowPosition(window, centered, centered)
        return true
    }

    mutating func sizeChanged(to size: PixelSize) {
        if let requested, size != requested, !isFullscreen { isResizedByUser = true }
    }

    mutating func toggleFullscreen(_ window: OpaquePointer) {
        isFullscreen.toggle()
        if let display = csdl_x11_display(window), csdl_x11_has_window_manager(display) == 0 {
            fillScreen(window)
        } else {
            SDL_SetWindowFullscreen(window, isFullscreen ? SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue : 0)
        }
    }

    /// Without a window manager SDL's full-screen request has no effect, but the window can be placed freely.
    private mutating func fillScreen(_ window: OpaquePointer) {
        if isFullscreen {
            var rect = SDL_Rect()
            SDL_GetWindowPosition(window, &rect.x, &rect.y)
            SDL_GetWindowSize(window, &rect.w, &rect.h)
            beforeFullscreen = rect
            let screen = Self.screen(usable: false)
            SDL_SetWindowPosition(window, 0, 0)
            SDL_SetWindowSize(window, Int32(screen.width), Int32(screen.height))
        } else if let rect = beforeFullscreen {
            requested = PixelSize(width: Int(rect.w), height: Int(rect.h))
            SDL_SetWindowSize(window, rect.w, rect.h)
            SDL_SetWindowPosition(window, rect.x, rect.y)
        }
    }

    private static func screen(usable: Bool) -> PixelSize {
        var bounds = SDL_Rect(x: 0, y: 0, w: 960, h: 540)
        _ = usable ? SDL_GetDisplayUsableBounds(0, &bounds) : SDL_GetDisplayBounds(0, &bounds)
        return PixelSize(width: Int(bounds.w), height: Int(bounds.h))
    }
}
