import ExampleWindow
import ShareKit
import Synchronization

/// Questions to the user, from any thread to the main thread.
final class Questions: Sendable {
    struct Question: Sendable {
        let text: String
        let answer: @Sendable (Bool) -> Void
    }

    private let waiting = Mutex<[Question]>([])

    func ask(_ text: String) async -> Bool {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0.append(Question(text: text) { continuation.resume(returning: $0) }) }
            Window.wake()
        }
    }

    func next() -> Question? { waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

/// The newest frame and the window's title, from the session's threads to the main thread.
final class Picture: Sendable {
    private struct State {
        var pixels: [UInt8] = []
        var (width, height) = (0, 0)
        var title = "Mirror"
        var isOver = false
    }

    private let state = Mutex(State())

    func take(_ frame: borrowing PeerViewer.Frame) {
        let (width, height) = (frame.width, frame.height)
        state.withLock { state in
            if state.pixels.count != width * height * 4 {
                state.pixels = [UInt8](repeating: 0, count: width * height * 4)
            }
            (state.width, state.height) = (width, height)
            state.pixels.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { frame.copyBGRA(to: base, stride: width * 4) }
            }
        }
        Window.wake()
    }

    func setTitle(_ title: String) {
        state.withLock { $0.title = title }
        Window.wake()
    }

    func end() {
        state.withLock { $0.isOver = true }
        Window.wake()
    }

    var title: String { state.withLock { $0.title } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Copies the frame into the window, cut to the window's size.
    @MainActor
    func copy(to window: Window) {
        state.withLock { state in
            let bytes = min(state.width, Window.width) * 4
            state.pixels.withUnsafeBytes { pixels in
                guard let base = pixels.baseAddress else { return }
                for row in 0..<min(state.height, Window.height) {
                    (window.pixels + row * window.stride).copyMemory(
                        from: base + row * state.width * 4, byteCount: bytes)
                }
            }
        }
    }
}
