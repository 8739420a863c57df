import CSDLWindow

/// A window of a fixed size with one picture of 32-bit pixels (B, G, R and an ignored byte). Main thread only, but for
/// `wake`.
@MainActor
final class Window {
    static let width = 640
    static let height = 480

    private let window: OpaquePointer
    private let surface: UnsafeMutablePointer<SDL_Surface>

    init?(title: String) {
        SDL_SetMainReady()
        guard SDL_Init(csdl_init_video) == 0,
            let window = SDL_CreateWindow(
                title, csdl_anywhere, csdl_anywhere, Int32(Self.width), Int32(Self.height), 0),
            let surface = SDL_CreateRGBSurfaceWithFormat(
                0, Int32(Self.width), Int32(Self.height), 32, Uint32(SDL_PIXELFORMAT_RGB888.rawValue))
        else { return nil }
        (self.window, self.surface) = (window, surface)
        SDL_FillRect(surface, nil, 0xFFFFFF)
    }

    var pixels: UnsafeMutableRawPointer { surface.pointee.pixels }
    var stride: Int { Int(surface.pointee.pitch) }

    /// Draws a spot of the pen.
    func fill(x: Int, y: Int, side: Int) {
        var rect = SDL_Rect(x: Int32(x), y: Int32(y), w: Int32(side), h: Int32(side))
        SDL_FillRect(surface, &rect, 0x2040C0)
    }

    func setTitle(_ title: String) { SDL_SetWindowTitle(window, title) }

    func present() {
        guard let target = SDL_GetWindowSurface(window) else { return }
        SDL_UpperBlit(surface, nil, target, nil)
        SDL_UpdateWindowSurface(window)
    }

    /// Asks the user in a small window.
    func ask(_ question: String) -> Bool { csdl_ask(window, "Mirror", question) == 1 }

    enum Event { case quit, pen(x: Int, y: Int), woken }

    /// Waits for the user, or for `wake`.
    func nextEvent() -> Event {
        var event = SDL_Event()
        while true {
            guard SDL_WaitEvent(&event) == 1 else { return .quit }
            switch SDL_EventType(event.type) {
            case SDL_QUIT: return .quit
            case SDL_MOUSEMOTION where event.motion.state & 1 != 0:
                return .pen(x: Int(event.motion.x), y: Int(event.motion.y))
            case SDL_MOUSEBUTTONDOWN: return .pen(x: Int(event.button.x), y: Int(event.button.y))
            case SDL_USEREVENT, SDL_WINDOWEVENT: return .woken
            default: continue
            }
        }
    }

    /// Ends `nextEvent`. May be called from any thread.
    nonisolated static func wake() {
        var event = SDL_Event()
        event.type = SDL_USEREVENT.rawValue
        SDL_PushEvent(&event)
    }
}
