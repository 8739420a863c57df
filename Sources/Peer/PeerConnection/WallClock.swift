import Foundation
package import RTPWire

/// The wall clock, for RTCP only.
package enum WallClock {
    package static func now() -> NTPTimestamp {
        let (seconds, fraction) = modf(Date().timeIntervalSince1970)
        return NTPTimestamp(unixSeconds: Int64(seconds), nanoseconds: Int64(fraction * 1e9))
    }
}
