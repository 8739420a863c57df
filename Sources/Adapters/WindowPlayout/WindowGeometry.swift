import CSDL
import MediaCore

/// Controls the size, position and full-screen state of the window.
/// - Isolation: main thread.
struct WindowGeometry {
    private var frame: PixelSize?
    /// The place that was requested last. If the window has another size, the user resized it, and it is left alone.
    private var requested: WindowPlace?
    /// The place that the user gave the window in an earlier session.
    private let remembered: WindowPlace?
    private var isResizedByUser = false
    private(set) var isFullscreen = false
    private var beforeFullscreen: WindowPlace?

    /// A window further away than this from its requested position was moved by the user. Window managers correct a
    /// position by the size of their frame.
    private static let moveTolerance = 64

    init(remembered: WindowPlace?) { self.remembered = remembered }

    mutating func makeWindow(title: String) throws(SourceFailure) -> OpaquePointer {
        let area = Self.workArea(display: 0)
        let place =
            remembered?.fitted(into: area, frame: WindowFrame())
            ?? WindowPlace(of: PixelSize(width: 960, height: 540), in: area, frame: WindowFrame())
        requested = remembered == nil ? nil : place
        let window = SDL_CreateWindow(
            title, Int32(place.x), Int32(place.y), Int32(place.size.width), Int32(place.size.height),
            SDL_WINDOW_SHOWN.rawValue | SDL_WINDOW_RESIZABLE.rawValue)
        guard let window else {
            throw SourceFailure(.noDisplay, "No window can be opened: \(SDLLibrary.lastError).")
        }
        SDL_SetWindowMinimumSize(window, 64, 36)
        return window
    }

    /// Resizes the window to the size of a new frame, unless the user has resized it, now or in an earlier session. It
    /// stays inside the work area, with its frame.
    /// - Returns: whether the window was resized.
    mutating func adopt(_ size: PixelSize, _ window: OpaquePointer) -> Bool {
        guard size != frame else { return false }
        frame = size
        guard !isFullscreen, !isResizedByUser else { return false }
        let area = Self.workArea(display: SDL_GetWindowDisplayIndex(window))
        let border = Self.border(of: window)
        let place =
            remembered?.fitted(into: area, frame: border) ?? WindowPlace(of: size, in: area, frame: border)
        move(window, to: place)
        return true
    }

    private mutating func move(_ window: OpaquePointer, to place: WindowPlace) {
        requested = place
        SDL_SetWindowSize(window, Int32(place.size.width), Int32(place.size.height))
        SDL_SetWindowPosition(window, Int32(place.x), Int32(place.y))
    }

    mutating func sizeChanged(to size: PixelSize) {
        if let requested, size != requested.size, !isFullscreen { isResizedByUser = true }
    }

    /// The place to be remembered: where the user has moved or resized the window; nil if it was left alone, is
    /// maximised or fills the screen.
    func chosenPlace(_ window: OpaquePointer) -> WindowPlace? {
        let special = SDL_WINDOW_MAXIMIZED.rawValue | SDL_WINDOW_FULLSCREEN.rawValue | SDL_WINDOW_MINIMIZED.rawValue
        guard !isFullscreen, SDL_GetWindowFlags(window) & special == 0 else { return nil }
        let place = Self.place(of: window)
        if isResizedByUser { return place }
        guard let requested else { return nil }
        let isMoved = max(abs(place.x - requested.x), abs(place.y - requested.y)) > Self.moveTolerance
        return isMoved ? place : nil
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
            beforeFullscreen = Self.place(of: window)
            var bounds = SDL_Rect(x: 0, y: 0, w: 960, h: 540)
            SDL_GetDisplayBounds(SDL_GetWindowDisplayIndex(window), &bounds)
            SDL_SetWindowPosition(window, bounds.x, bounds.y)
            SDL_SetWindowSize(window, bounds.w, bounds.h)
        } else if let place = beforeFullscreen {
            move(window, to: place)
        }
    }

    private static func place(of window: OpaquePointer) -> WindowPlace {
        var rect = SDL_Rect()
        SDL_GetWindowPosition(window, &rect.x, &rect.y)
        SDL_GetWindowSize(window, &rect.w, &rect.h)
        return WindowPlace(x: Int(rect.x), y: Int(rect.y), size: PixelSize(width: Int(rect.w), height: Int(rect.h)))
    }

    /// The window manager's frame; all zero if there is none, or it is unknown.
    private static func border(of window: OpaquePointer) -> WindowFrame {
        var (top, left, bottom, right) = (Int32(0), Int32(0), Int32(0), Int32(0))
        guard SDL_GetWindowBordersSize(window, &top, &left, &bottom, &right) == 0 else { return WindowFrame() }
        return WindowFrame(top: Int(top), left: Int(left), bottom: Int(bottom), right: Int(right))
    }

    /// The display without panels and docks.
    static func workArea(display: Int32) -> PixelRect {
        var bounds = SDL_Rect(x: 0, y: 0, w: 960, h: 540)
        SDL_GetDisplayUsableBounds(max(display, 0), &bounds)
        return PixelRect(x: Int(bounds.x), y: Int(bounds.y), width: Int(bounds.w), height: Int(bounds.h))
    }
}
