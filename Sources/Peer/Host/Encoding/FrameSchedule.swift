import MediaCore

/// When an encoding's next frame may be made: no more than the frame rate on average, while a change that comes a
/// little early does not wait. Without that, a source at the rate itself waits for most of its frames, as no two clocks
/// agree.
///
/// The generic cell rate algorithm (ITU-T I.371, as virtual scheduling), with a tolerance of three quarters of an
/// interval.
struct FrameSchedule {
    private let interval: MediaDuration
    private var last = MediaInstant(nanoseconds: 0)
    /// When the next frame is due if all come at the rate.
    private var regular = MediaInstant(nanoseconds: 0)

    init(framesPerSecond: Int) { self.init(interval: .microseconds(1_000_000 / max(framesPerSecond, 1))) }

    private init(interval: MediaDuration) { self.interval = interval }

    /// One of the same rate, for an encoding that has no frames yet.
    var another: FrameSchedule { FrameSchedule(interval: interval) }

    /// When a change may be shown.
    var earliest: MediaInstant { regular - MediaDuration(nanoseconds: interval.nanoseconds / 4 * 3) }

    /// When the rest of a change or a refinement is made. They leave the tolerance to changes.
    var afterInterval: MediaInstant { last + interval }

    mutating func note(frameAt now: MediaInstant) {
        regular = max(regular, now) + interval
        last = now
    }
}
