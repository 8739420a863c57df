import LinuxRuntime
public import MediaCore

/// A synthetic video source with a moving `TestPattern`, for tests and for use without a display.
/// - Isolation: one thread at a time; `wake` from any thread.
public final class TestVideoSource: ScreenSource {
    public static let defaultSize = PixelSize(width: 1_280, height: 720)

    public let pattern: TestPattern
    /// 0: a static frame.
    private let framesPerSecond: Int64
    /// When frame 0 began: the start of a second of the media clock, as that of a beep of ``TestTone``.
    private let start = MediaInstant(nanoseconds: MonotonicClock.now.nanoseconds / 1_000_000_000 * 1_000_000_000)
    private let isWoken = Monitor(false)
    /// The number of the frame on the canvas; nil if the canvas holds nothing of this source.
    private var shown: Int?

    /// - Parameters:
    ///   - size: even, at least `TestPattern.smallestSize`.
    ///   - framesPerSecond: 0...1,000; 0 gives a static frame.
    public init(size: PixelSize = TestVideoSource.defaultSize, framesPerSecond: Int = 30) {
        precondition((0...1_000).contains(framesPerSecond), "\(framesPerSecond) frames a second")
        pattern = TestPattern(size)
        self.framesPerSecond = Int64(framesPerSecond)
    }

    public var size: PixelSize { pattern.size }

    public var summary: String { "test picture, \(size.width) x \(size.height)" }

    public var limitations: [String] { [] }

    public func wait(until deadline: MediaInstant?) -> ScreenEvent {
        let tick = nextTick
        if let tick, tick <= MonotonicClock.now { return .damaged }
        let until = tick.map { min($0, deadline ?? $0) } ?? deadline
        if takeWake(until: until) { return .woken }
        if let tick, tick <= MonotonicClock.now { return .damaged }
        return .woken
    }

    public func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        precondition(canvas.size == size && changed.size == size, "canvas of \(canvas.size), picture of \(size)")
        let now = MonotonicClock.now
        let frame = Int((now - start).nanoseconds * framesPerSecond / 1_000_000_000)
        if let shown {
            pattern.drawMoving(frame, old: shown, on: canvas, changed: &changed)
        } else {
            pattern.drawAll(frame, on: canvas)
            changed.fill()
        }
        shown = frame
        return now
    }

    public func damageEverything() { shown = nil }

    public func wake() { isWoken.change { $0 = true } }

    /// Sleeps until `wake` or the deadline; nil sleeps as long as it takes. Calls of `wake` before the sleep are kept;
    /// many count as one.
    private func takeWake(until deadline: MediaInstant?) -> Bool {
        isWoken.wait(until: deadline ?? .distantFuture) { isWoken in
            defer { isWoken = false }
            return isWoken ? () : nil
        } != nil
    }

    public func resume() { shown = nil }

    public func close() {}

    /// When the frame after the shown one begins; nil if it never does.
    private var nextTick: MediaInstant? {
        guard let shown else { return start }
        guard framesPerSecond > 0 else { return nil }
        // The first nanosecond of the frame.
        let elapsed = (Int64(shown + 1) * 1_000_000_000 + framesPerSecond - 1) / framesPerSecond
        return start + MediaDuration(nanoseconds: elapsed)
    }
}
