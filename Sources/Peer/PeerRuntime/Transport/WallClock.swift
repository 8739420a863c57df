import Glibc
import MediaCore
import RTPWire

/// CLOCK_REALTIME, for RTCP only.
enum WallClock {
    static func now() -> NTPTimestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return NTPTimestamp(unixSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}
