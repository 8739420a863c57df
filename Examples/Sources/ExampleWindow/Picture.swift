import Synchronization

/// The newest frame of a broadcast, from the threads that decode to the main thread, which draws it.
public final class Picture: Sendable {
    private struct State {
        var pixels: [UInt8] = []
        var (width, height) = (0, 0)
    }

    private let state = Mutex(State())

    public init() {}

    /// Takes a frame, and wakes the window.
    /// - Parameter fill: writes `height` rows of `stride` bytes.
    public func update(width: Int, height: Int, _ fill: (UnsafeMutableRawPointer, _ stride: Int) -> Void) {
        state.withLock { state in
            if state.pixels.count != width * height * 4 {
                state.pixels = [UInt8](repeating: 0, count: width * height * 4)
            }
            (state.width, state.height) = (width, height)
            state.pixels.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { fill(base, width * 4) }
            }
        }
        Window.wake()
    }

    /// Calls `body` with the rows of the frame, which have no padding; not at all before the first frame.
    func read(_ body: (UnsafeRawPointer, _ size: (width: Int, height: Int)) -> Void) {
        state.withLock { state in
            state.pixels.withUnsafeBytes { bytes in
                if let base = bytes.baseAddress, !bytes.isEmpty { body(base, (state.width, state.height)) }
            }
        }
    }
}
