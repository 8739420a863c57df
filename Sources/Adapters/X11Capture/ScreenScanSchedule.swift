internal import MediaCore

/// Schedules comparisons of the whole screen on a server without DAMAGE: ten a second while something changes. The
/// interval doubles after each comparison that finds nothing, up to 500 ms.
struct ScreenScanSchedule {
    private static let shortest = MediaDuration.milliseconds(100)
    private static let longest = MediaDuration.milliseconds(500)

    private var interval = shortest
    private(set) var next = MediaInstant(nanoseconds: 0)

    mutating func recordScan(at now: MediaInstant, foundChange: Bool) {
        interval = foundChange ? Self.shortest : min(interval + interval, Self.longest)
        next = now + interval
    }

    /// The mouse moved, so a change is likely: the next comparison comes earlier.
    mutating func expectChange() {
        next = min(next, next - interval + Self.shortest)
        interval = Self.shortest
    }
}
