internal import MediaCore

/// When to compare the whole screen, on a server that does not tell what changes: ten times a second while something does,
/// half as often after each look that found nothing, down to twice a second.
struct ScanClock {
    private static let shortest = MediaDuration.milliseconds(100)
    private static let longest = MediaDuration.milliseconds(500)

    private var interval = shortest
    private(set) var next = MediaInstant(nanoseconds: 0)

    mutating func looked(at now: MediaInstant, foundChange: Bool) {
        interval = foundChange ? Self.shortest : min(interval + interval, Self.longest)
        next = now + interval
    }

    /// The mouse moves: something will probably change.
    mutating func hurry() {
        next = min(next, next - interval + Self.shortest)
        interval = Self.shortest
    }
}
