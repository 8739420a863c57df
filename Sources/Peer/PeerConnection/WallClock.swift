import FoundationEssentials
package import RTPWire

/// The wall clock, for RTCP only.
package enum WallClock {
    package static func now() -> NTPTimestamp {
        let now = Date().timeIntervalSince1970
        let seconds = now.rounded(.down)
        return NTPTimestamp(unixSeconds: Int64(seconds), nanoseconds: Int64((now - seconds) * 1e9))
    }
}
