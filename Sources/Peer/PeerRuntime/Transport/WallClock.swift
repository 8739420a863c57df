import Foundation
import RTPWire

/// The wall clock, for RTCP only.
enum WallClock {
    static func now() -> NTPTimestamp {
        let (seconds, fraction) = modf(Date().timeIntervalSince1970)
        return NTPTimestamp(unixSeconds: Int64(seconds), nanoseconds: Int64(fraction * 1e9))
    }
}
