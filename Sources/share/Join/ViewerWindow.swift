import MediaCore
import Synchronization
import WindowPlayout

/// The window of a viewer, which opens while the session begins. What it is to show before it is open waits for it.
final class ViewerWindow: Sendable {
    private enum State {
        case expected([@Sendable (VideoWindow) -> Void])
        case open(VideoWindow)
        case none
    }

    private let state: Mutex<State>
    private let newest = LatestFrameStore(isNeeded: true)

    /// - Parameter isExpected: false: there will be none.
    init(isExpected: Bool) { state = Mutex(isExpected ? .expected([]) : .none) }

    init(_ window: VideoWindow) { state = Mutex(.open(window)) }

    /// Whether the window is open, or will be.
    var isExpected: Bool {
        state.withLock { state in
            if case .none = state { false } else { true }
        }
    }

    /// Opens the window, unless that was done before.
    /// - Parameter make: if it throws, there is no window.
    /// - Returns: nil if none is expected.
    /// - Isolation: main thread.
    func open(_ make: () throws -> VideoWindow) throws -> VideoWindow? {
        switch state.withLock({ $0 }) {
        case .none: return nil
        case .open(let window): return window
        case .expected: break
        }
        do {
            let window = try make()
            state.withLock { state in
                if case .expected(let actions) = state { for action in actions { action(window) } }
                newest.show(in: window)
                state = .open(window)
            }
            return window
        } catch {
            state.withLock { $0 = .none }
            throw error
        }
    }

    /// Runs the action now, or as soon as the window is open, in the order of the calls; never without a window.
    /// - Parameter action: must not call this object.
    func perform(_ action: @escaping @Sendable (VideoWindow) -> Void) {
        state.withLock { state in
            switch state {
            case .expected(let actions): state = .expected(actions + [action])
            case .open(let window): action(window)
            case .none: break
            }
        }
    }

    /// The newest frame is shown when the window is open.
    /// - Isolation: any one thread at a time.
    func show(_ frame: I420Frame, at time: MediaInstant?) {
        let window: VideoWindow? = state.withLock { state in
            switch state {
            case .expected: newest.keep(frame)
            case .open(let window): return window
            case .none: break
            }
            return nil
        }
        window?.show(frame, at: time)
    }
}
