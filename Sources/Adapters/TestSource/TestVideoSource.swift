import LinuxRuntime
public import MediaCore

/// A synthetic video source with a moving `TestPattern`, for tests and for use without a display.
/// - Isolation: one thread at a time; `wake` from any thread.
public final class TestVideoSource: ScreenSource {
    public static let defaultSize = PixelSize(width: 1_280, height: 720)

    public let pattern: TestPattern
    /// The frame interval; nil for a static frame.
    private let interval: MediaDuration?
    private let start = MonotonicClock.now
    private let isWoken = Monitor(false)
    /// The number of the frame on the canvas; nil if the canvas holds nothing of this source.
    private var shown: Int?

    /// - Parameters:
    ///   - size: even, at least `TestPattern.smallestSize`.
    ///   - framesPerSecond: 0...1,000; 0 gives a static frame.
    public init(size: PixelSize = TestVideoSource.defaultSize, framesPerSecond: Int = 30) {
        precondition((0...1_000).contains(framesPerSecond), "\(framesPerSecond) frames a second")
        pattern = TestPattern(size)
        interval = framesPerSecond == 0 ? nil : .microseconds(1_000_000 / framesPerSecond)
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
        let frame = interval.map { Int((now - start).nanoseconds / $0.nanoseconds) } ?? 0
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
        return interval.map { start + $0 * Int64(shown + 1) }
    }
}
