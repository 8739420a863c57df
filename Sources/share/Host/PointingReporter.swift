import CommandSupport
import LinuxRuntime
import MediaCore
import Synchronization

/// Tells the host's user in words where viewers point: over a shared display, a camera or a portal's picture, where an
/// overlay would be in the picture itself. Safe from any thread.
final class PointingReporter: Sendable {
    private let report = Mutex(PointingReport())
    private let feed: AsyncStream<PointingReport.Line>.Continuation

    /// - Parameter tell: may block; it is called on a thread of its own, with one line after another. The oldest of
    ///   more than 8 lines are dropped.
    init(_ tell: @escaping @Sendable (PointingReport.Line) -> Void) {
        let (lines, feed) = AsyncStream.makeStream(of: PointingReport.Line.self, bufferingPolicy: .bufferingNewest(8))
        self.feed = feed
        Task { for await line in lines { await onThread("pointing") { tell(line) } } }
    }

    deinit { feed.finish() }

    /// Takes over what viewers have done, and returns at once.
    func show(_ events: PointerEvents) {
        for line in report.withLock({ $0.handle(events, now: MonotonicClock.now) }) { feed.yield(line) }
    }
}
