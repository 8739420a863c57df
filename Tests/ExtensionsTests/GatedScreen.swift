import LinuxRuntime
import MediaCore

/// A screen that stands still, and whose next read the test can let wait.
final class GatedScreen: ScreenSource, Sendable {
    private struct State {
        var isDamaged = true
        var isWoken = false
        var isGated = false
        var isReading = false
        var reads = 0
    }

    let size = PixelSize(width: 64, height: 64)
    let summary = "a gated screen"
    let limitations: [String] = []
    private let state = Monitor(State())

    /// Changes the screen, and lets what reads it wait until `open`.
    func gate() {
        state.change { state in
            state.isGated = true
            state.isDamaged = true
        }
    }

    func open() { state.change { $0.isGated = false } }

    /// Waits until the screen is being read; false after 20 s.
    func isReading() async -> Bool {
        await withCheckedContinuation { continuation in
            _ = NamedThread("wait") { [state] in
                continuation.resume(
                    returning: state.wait(until: MonotonicClock.now + .seconds(20)) { $0.isReading ? true : nil }
                        ?? false)
            }
        }
    }

    func wait(until deadline: MediaInstant?) -> ScreenEvent {
        state.wait(until: deadline ?? .distantFuture) { state -> ScreenEvent? in
            if state.isWoken {
                state.isWoken = false
                return .woken
            }
            return state.isDamaged ? .damaged : nil
        } ?? .woken
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        let reads = state.change { state in
            state.isDamaged = false
            state.isReading = state.isGated
            state.reads += 1
            return state.reads
        }
        for index in 0..<(canvas.strideY * size.height) {
            canvas.y[index] = UInt8(truncatingIfNeeded: 32 + (index / 8 + reads * 13) % 160)
        }
        changed.fill()
        let captured = MonotonicClock.now
        state.wait { $0.isGated ? nil : () }
        return captured
    }

    func damageEverything() { state.change { $0.isDamaged = true } }
    func wake() { state.change { $0.isWoken = true } }
    func close() {}
}

/// A microphone that delivers nothing, and knows whether it is held.
final class SilentMicrophone: AudioSource {
    let summary = "a microphone"
    let isHeld = Monitor(false)

    func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) {}

    func stop() {}

    func setHeld(_ isHeld: Bool) { self.isHeld.with { $0 = isHeld } }
}
