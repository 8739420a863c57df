internal import CXCB
internal import Glibc
internal import MediaCore

/// Ends another thread's `poll`. Rings before the wait are kept; many count as one.
// SAFETY: the descriptor does not change until deinit, and the kernel takes reads and writes from any thread.
final class WakeDescriptor: @unchecked Sendable {
    let descriptor: Int32

    init() throws(SourceFailure) {
        descriptor = cxcb_open_bell()
        guard descriptor >= 0 else {
            throw SourceFailure(
                .unsupported, "no descriptor is left to wait with (errno \(errno))",
                remedy: "Raise the limit of open files (ulimit -n).")
        }
    }

    deinit { Glibc.close(descriptor) }

    func ring() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// - Returns: whether it rang since the last call.
    func consume() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, 8) == 8
    }

    /// Sleeps until it rings, `other` has something to read or the deadline passes. Signals may end it early.
    func sleep(or other: Int32, until deadline: MediaInstant?) {
        guard let deadline else { return cxcb_sleep(descriptor, other, nil) }
        let left = max((deadline - MediaInstant.now).nanoseconds, 0)
        var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
        cxcb_sleep(descriptor, other, &time)
    }
}

extension MediaInstant {
    static var now: MediaInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
