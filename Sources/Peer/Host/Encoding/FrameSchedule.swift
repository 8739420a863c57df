import MediaCore

/// When an encoding's next frame may be made: no more than a fiftieth over the frame rate on average, while a change that
/// comes a little early does not wait.
///
/// A source at the rate itself waits for none of its frames, though no two clocks agree: early changes use the tolerance,
/// and what a source is faster by uses the fiftieth. Without it each frame would use up a little of the tolerance, until all
/// frames wait.
///
/// The generic cell rate algorithm (ITU-T I.371, as virtual scheduling), with a tolerance of three quarters of an
/// interval.
struct FrameSchedule {
    private let interval: MediaDuration
    private var last = MediaInstant(nanoseconds: 0)
    /// When the next frame is due if all come at the rate and a fiftieth.
    private var regular = MediaInstant(nanoseconds: 0)

    init(framesPerSecond: Int) { self.init(interval: .microseconds(1_000_000 / max(framesPerSecond, 1))) }

    private init(interval: MediaDuration) { self.interval = interval }

    /// One of the same rate, for an encoding that has no frames yet.
    var another: FrameSchedule { FrameSchedule(interval: interval) }

    /// When a change may be shown.
    var earliest: MediaInstant { regular - MediaDuration(nanoseconds: interval.nanoseconds / 4 * 3) }

    /// When the rest of a change or a refinement is made. They leave the tolerance to changes, and come when changes leave
    /// time for them.
    var afterInterval: MediaInstant { max(last + interval, regular) }

    mutating func note(frameAt now: MediaInstant) {
        regular = max(regular, now) + MediaDuration(nanoseconds: interval.nanoseconds / 51 * 50)
        last = now
    }
}
