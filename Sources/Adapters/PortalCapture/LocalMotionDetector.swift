internal import LinuxRuntime
internal import MediaCore

/// Tells from the places of a pointer whether somebody else than the viewers moves it. A value without a clock.
///
/// The places come with the frames, so they are late: what viewers did within the last two seconds explains them.
struct LocalMotionDetector {
    /// How far a place may be from where it was put, in the desktop's units: pixels are rounded to them.
    static let tolerance = 2
    static let memory = MediaDuration.seconds(2)
    static let capacity = 512

    private var placements: [(place: ScreenPoint, instant: MediaInstant)] = []
    /// Where it was at last.
    private var place: ScreenPoint?

    /// Whether the pointer is where viewers have put it, as far as is known.
    private(set) var isPlaced = false

    /// A viewer has put the pointer there.
    mutating func put(at place: ScreenPoint, now: MediaInstant) {
        let expired = placements.prefix { now - $0.instant > Self.memory }.count
        placements.removeFirst(max(expired, placements.count - Self.capacity + 1))
        placements.append((place, now))
        isPlaced = true
    }

    /// The pointer is there.
    /// - Returns: whether somebody else has moved it.
    mutating func isLocal(at new: ScreenPoint, now: MediaInstant) -> Bool {
        defer { place = new }
        guard let place, new != place else { return false }
        // The last one counts however old it is.
        for (index, placement) in placements.enumerated() {
            guard index == placements.count - 1 || now - placement.instant <= Self.memory else { continue }
            if abs(placement.place.x - new.x) <= Self.tolerance, abs(placement.place.y - new.y) <= Self.tolerance {
                return false
            }
        }
        placements.removeAll()
        isPlaced = false
        return true
    }
}
