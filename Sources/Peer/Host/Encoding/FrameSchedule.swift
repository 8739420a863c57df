import MediaCore

/// When an encoding's next frame may be made: no more than the frame rate on average, while a change that comes a little
/// early does not wait. Without that, a source at the rate itself waits for most of its frames, as no two clocks agree.
///
/// The generic cell rate algorithm (ITU-T I.371, as virtual scheduling), with a tolerance of three quarters of an interval.
struct FrameSchedule {
    let interval: MediaDuration
    /// When the next frame is due if all come at the rate. Frames that show nothing new are made then, so that they use up
    /// nothing of the tolerance.
    private(set) var regular = MediaInstant(nanoseconds: 0)

    init(framesPerSecond: Int) { interval = .microseconds(1_000_000 / max(framesPerSecond, 1)) }

    /// When a change may be shown.
    var earliest: MediaInstant { regular - MediaDuration(nanoseconds: interval.nanoseconds / 4 * 3) }

    mutating func note(frameAt now: MediaInstant) { regular = max(regular, now) + interval }
}
