import CSDLWindow
import Foundation
import Synchronization

/// A window of a fixed size with one picture of 32-bit pixels (B, G, R and an ignored byte). Main thread only, but for
/// `wake`.
@MainActor
public final class Window {
    public static let width = 640
    public static let height = 480

    private let window: OpaquePointer
    private let surface: UnsafeMutablePointer<SDL_Surface>

    /// - Parameter isVisible: false: there is no window, only its picture, and no display is needed.
    public init?(title: String, isVisible: Bool = true) {
        SDL_SetMainReady()
        if !isVisible { SDL_setenv("SDL_VIDEODRIVER", "dummy", 1) }
        guard SDL_Init(csdl_init_video) == 0,
            let window = SDL_CreateWindow(
                title, csdl_anywhere, csdl_anywhere, Int32(Self.width), Int32(Self.height), 0),
            let surface = SDL_CreateRGBSurfaceWithFormat(
                0, Int32(Self.width), Int32(Self.height), 32, Uint32(SDL_PIXELFORMAT_RGB888.rawValue))
        else { return nil }
        (self.window, self.surface) = (window, surface)
        fill(x: 0, y: 0, width: Self.width, height: Self.height, color: 0xFFFFFF)
    }

    public var pixels: UnsafeMutableRawPointer { surface.pointee.pixels }
    public var stride: Int { Int(surface.pointee.pitch) }

    /// Fills a rectangle; the parts outside of the picture are left out.
    public func fill(x: Int, y: Int, width: Int, height: Int, color: UInt32) {
        var rect = SDL_Rect(x: Int32(x), y: Int32(y), w: Int32(width), h: Int32(height))
        SDL_FillRect(surface, &rect, color)
    }

    /// Draws the newest frame of `picture` as large as fits into the rectangle.
    public func draw(_ picture: Picture, x: Int, y: Int, width: Int, height: Int) {
        picture.read { pixels, size in
            let scale = min(Double(width) / Double(size.width), Double(height) / Double(size.height))
            let (w, h) = (Int(Double(size.width) * scale), Int(Double(size.height) * scale))
            guard
                let frame = SDL_CreateRGBSurfaceWithFormatFrom(
                    UnsafeMutableRawPointer(mutating: pixels), Int32(size.width), Int32(size.height), 32,
                    Int32(size.width * 4), Uint32(SDL_PIXELFORMAT_RGB888.rawValue))
            else { return }
            var place = SDL_Rect(
                x: Int32(x + (width - w) / 2), y: Int32(y + (height - h) / 2), w: Int32(w), h: Int32(h))
            SDL_UpperBlitScaled(frame, nil, surface, &place)
            SDL_FreeSurface(frame)
        }
    }

    public func setTitle(_ title: String) { SDL_SetWindowTitle(window, title) }

    public func present() {
        guard let target = SDL_GetWindowSurface(window) else { return }
        SDL_UpperBlit(surface, nil, target, nil)
        SDL_UpdateWindowSurface(window)
    }

    /// Asks the user in a small window.
    public func ask(_ title: String, _ question: String) -> Bool {
        choose(title, question, ["Refuse", "Accept"]) == 1
    }

    /// Lets the user choose one of at most eight answers; Escape chooses the first one. The window is drawn meanwhile, as it
    /// may just have come back, and the question may be moved over it.
    public func choose(_ title: String, _ question: String, _ answers: [String]) -> Int {
        present()
        let answer = Answer()
        // SAFETY: the question, which SDL shows in a process of its own, uses nothing but the window's place.
        nonisolated(unsafe) let window = window
        Thread.detachNewThread {
            let texts = answers.map { SDL_strdup($0) }
            let chosen = csdl_ask(window, title, question, texts.map { UnsafePointer($0) }, Int32(texts.count))
            texts.forEach { SDL_free($0) }
            answer.value.withLock { $0 = Int(chosen) }
            Window.wake()
        }
        var event = SDL_Event()
        var hasQuit = false
        while true {
            if let chosen = answer.value.withLock({ $0 }) {
                if hasQuit { Self.push(SDL_QUIT) }
                return chosen
            }
            guard SDL_WaitEventTimeout(&event, 100) == 1 else { continue }
            switch SDL_EventType(event.type) {
            case SDL_QUIT: hasQuit = true
            case SDL_WINDOWEVENT: present()
            default: continue
            }
        }
    }

    private final class Answer: Sendable {
        let value = Mutex<Int?>(nil)
    }

    public enum Event {
        case quit
        case pen(x: Int, y: Int)
        case key(Character)
        case woken
    }

    /// Waits for the user, or for `wake`.
    public func nextEvent() -> Event {
        var event = SDL_Event()
        while true {
            // SDL notices a signal, and events that another thread has read from the display, only when it looks again.
            guard SDL_WaitEventTimeout(&event, 100) == 1 else { continue }
            switch SDL_EventType(event.type) {
            case SDL_QUIT: return .quit
            case SDL_MOUSEMOTION where event.motion.state & 1 != 0:
                return .pen(x: Int(event.motion.x), y: Int(event.motion.y))
            case SDL_MOUSEBUTTONDOWN: return .pen(x: Int(event.button.x), y: Int(event.button.y))
            case SDL_KEYDOWN:
                guard let scalar = UInt8(exactly: event.key.keysym.sym) else { continue }
                return .key(Character(UnicodeScalar(scalar)))
            case SDL_USEREVENT, SDL_WINDOWEVENT: return .woken
            default: continue
            }
        }
    }

    /// Ends `nextEvent`. May be called from any thread.
    public nonisolated static func wake() { push(SDL_USEREVENT) }

    private nonisolated static func push(_ type: SDL_EventType) {
        var event = SDL_Event()
        event.type = type.rawValue
        SDL_PushEvent(&event)
    }
}
