import MediaCore

/// About how large a recovery frame would be: as the largest frame of the last second, if frames are repetitive.
struct RecoverySizeEstimate {
    private static let memory = MediaDuration.seconds(1)
    private static let half = MediaDuration.milliseconds(500)

    /// Nil: it is not known, and may be that of the whole picture.
    private(set) var bytes: Int?
    /// The largest frame of the present half of a second, and of the one before it.
    private var present = (bytes: 0, since: MediaInstant(nanoseconds: 0))
    private var former = 0
    private var lastRepetitive: MediaInstant?
    private var check: (isSlow: Bool, at: MediaInstant)?

    mutating func note(_ frame: Int, isRepetitive: Bool, now: MediaInstant) {
        if now - present.since >= Self.half {
            former = now - present.since < Self.memory ? present.bytes : 0
            present = (0, now)
        }
        present.bytes = max(present.bytes, frame)
        if isRepetitive { lastRepetitive = now }
        bytes = lastRepetitive.map { now - $0 < Self.memory } ?? false ? max(present.bytes, former) : nil
    }

    /// Whether repair takes longer than a recovery frame, if that was found out just now: a receiver may ask thousands of
    /// times a second, and the answer takes a look at each packet.
    func isRepairSlow(now: MediaInstant) -> Bool? {
        check.flatMap { now - $0.at < .milliseconds(20) ? $0.isSlow : nil }
    }

    mutating func noteRepair(isSlow: Bool, now: MediaInstant) { check = (isSlow, now) }
}
