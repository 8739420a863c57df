internal import Glibc
public import MediaCore

/// CLOCK_MONOTONIC, the clock of media. It is read only here.
public enum MonotonicClock {
    /// Allocates: never; no system call (vDSO).
    public static var now: MediaInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}
