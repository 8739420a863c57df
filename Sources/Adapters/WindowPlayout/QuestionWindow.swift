internal import CSDL
internal import Glibc

/// A small window with a question and two buttons.
public enum QuestionWindow {
    /// Whether there is a display for a window.
    public static var isPossible: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }

    /// Asks, and blocks until there is an answer. Escape, and closing the window, refuse. One call at a time.
    /// - Returns: whether the question was accepted; nil if there is no display.
    public static func ask(title: String, _ question: String, accept: String, refuse: String) -> Bool? {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { return nil }
        defer { SDLLibrary.close(UInt32(SDL_INIT_VIDEO)) }
        switch csdl_ask(title, question, accept, refuse) {
        case 1: return true
        case 0: return false
        default: return nil
        }
    }
}
