internal import MediaCore

/// Decides whether a loop pauses before it waits again, so that events that come one by one are handled together.
///
/// A pause costs a wake-up of its own, so there are none while events are rare: they begin when two iterations follow
/// each other within half of the interval, and end when nothing has come during one.
struct WakeupModeration {
    private let interval: MediaDuration
    private var began: MediaInstant?
    private var isActive = false

    /// A wait that takes longer was for an event that came after its beginning.
    private static let immediate = MediaDuration.microseconds(20)

    /// - Parameter interval: the least time from one iteration to the next; zero: there are no pauses.
    init(interval: MediaDuration = .zero) { self.interval = interval }

    /// An iteration begins.
    /// - Parameter waited: how long the loop has waited for an event.
    mutating func begin(_ now: MediaInstant, waited: MediaDuration) {
        guard interval > .zero else { return }
        if isActive {
            isActive = waited < Self.immediate
        } else if let began {
            isActive = now - began < MediaDuration(nanoseconds: interval.nanoseconds / 2)
        }
        began = now
    }

    /// When the loop may wait again; nil: at once.
    var pause: MediaInstant? { isActive ? began.map { $0 + interval } : nil }
}
