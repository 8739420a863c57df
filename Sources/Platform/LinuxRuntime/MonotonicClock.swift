internal import CLinux
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

    /// Blocks the thread. Returns at once if the instant has passed, and earlier if a signal comes.
    public static func sleep(until instant: MediaInstant) {
        var time = timespec(
            tv_sec: Int(instant.nanoseconds / 1_000_000_000), tv_nsec: Int(instant.nanoseconds % 1_000_000_000))
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil)
    }

    /// Has timers of this thread fire as late as this in nanoseconds at the most, if the scheduler can.
    public static func setTimerSlack(nanoseconds: Int) { clinux_set_timer_slack(UInt(nanoseconds)) }
}
