internal import CLinux
internal import Glibc
public import MediaCore

/// Ends another thread's wait in `poll`: an eventfd. Signals before the wait are kept; many count as one.
///
/// A thread that waits for values only takes a `Monitor`, and an `EventLoop` has its `LoopWakeup`; neither needs a
/// descriptor.
public final class Wakeup: Sendable {
    /// No descriptor is left (an errno), usually because of the limit of open files.
    public struct Failure: Error, Equatable {
        public let code: Int32
    }

    /// Can be read when it was signalled. It is closed with the value.
    public let descriptor: Int32

    public init() throws(Failure) {
        descriptor = clinux_eventfd()
        guard descriptor >= 0 else { throw Failure(code: errno) }
    }

    deinit { close(descriptor) }

    /// From any thread. What the caller wrote before is visible to who waits. One system call; allocates never.
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

    /// Sleeps until a signal comes, `other` has something to read or the deadline passes; Unix signals may end it
    /// early. It consumes nothing.
    /// - Parameters:
    ///   - other: -1 for none.
    ///   - deadline: nil sleeps as long as it takes.
    /// - Returns: whether it is signalled.
    @discardableResult
    public func wait(or other: Int32 = -1, until deadline: MediaInstant?) -> Bool {
        guard let deadline else { return clinux_wait(descriptor, other, nil) != 0 }
        let left = max((deadline - MonotonicClock.now).nanoseconds, 0)
        var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
        return clinux_wait(descriptor, other, &time) != 0
    }
}
