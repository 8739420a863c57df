internal import CLinux
internal import Glibc
public import MediaCore

/// Ends another thread's wait in `poll`, by an eventfd. Signals before the wait are kept; several count as one.
///
/// A thread that waits only for values uses a `Monitor`, and an `EventLoop` has its `LoopWakeup`; neither needs a
/// descriptor.
public final class Wakeup: Sendable {
    /// No descriptor is available (an errno), usually because of the limit of open files.
    public struct Failure: Error, Equatable {
        public let code: Int32
    }

    /// Readable after a signal. Closed with the value.
    public let descriptor: Int32

    public init() throws(Failure) {
        descriptor = clinux_eventfd()
        guard descriptor >= 0 else { throw Failure(code: errno) }
    }

    /// The wake-up of a source.
    /// - Throws: `.unsupported` if no descriptor is available.
    public static func forSource() throws(SourceFailure) -> Wakeup {
        do throws(Failure) {
            return try Wakeup()
        } catch {
            throw SourceFailure(
                .unsupported, "no descriptor is left to wait with (errno \(error.code))",
                remedy: "Raise the limit of open files (ulimit -n).")
        }
    }

    deinit { close(descriptor) }

    /// Signals. May be called from any thread. The caller's earlier writes are visible to the waiting thread. One
    /// system call; allocates never.
    public func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// - Returns: whether it was signalled since the last call.
    @discardableResult
    public func consume() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, 8) == 8
    }

    /// Sleeps until a signal comes, `other` is readable or the deadline passes; Unix signals may end it early. The
    /// signal stays pending.
    /// - Parameters:
    ///   - other: -1 for none.
    ///   - deadline: nil for no time limit.
    /// - Returns: whether it is signalled.
    @discardableResult
    public func wait(or other: Int32 = -1, until deadline: MediaInstant?) -> Bool {
        guard let deadline else { return clinux_wait(descriptor, other, nil) != 0 }
        let left = max((deadline - MonotonicClock.now).nanoseconds, 0)
        var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
        return clinux_wait(descriptor, other, &time) != 0
    }

    /// The same with any number of other descriptors, up to 7; negative ones count as none.
    package func wait(orAnyOf others: [Int32], until deadline: MediaInstant?) {
        let all = [descriptor] + others
        guard let deadline else { return clinux_wait_all(all, Int32(all.count), nil) }
        let left = max((deadline - MonotonicClock.now).nanoseconds, 0)
        var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
        clinux_wait_all(all, Int32(all.count), &time)
    }
}
