import MediaCore

/// About how many bytes the smallest recovery frame would take, as the encoder last predicted.
struct RecoverySizeEstimate {
    private static let validity = MediaDuration.seconds(1)
    private static let checkInterval = MediaDuration.milliseconds(20)

    private var predicted: (bytes: Int, at: MediaInstant)?
    private var check: (isSlow: Bool, at: MediaInstant)?

    /// Notes what the encoder says with a frame.
    mutating func note(_ bytes: Int?, now: MediaInstant) { predicted = bytes.map { ($0, now) } }

    /// Nil: it is not known, and may be that of the whole picture.
    func bytes(now: MediaInstant) -> Int? {
        predicted.flatMap { now - $0.at < Self.validity ? $0.bytes : nil }
    }

    /// Whether repair takes longer than a recovery frame, if that was found out just now: a receiver may ask thousands of
    /// times a second, and the answer takes a look at each packet.
    func isRepairSlow(now: MediaInstant) -> Bool? {
        check.flatMap { now - $0.at < Self.checkInterval ? $0.isSlow : nil }
    }

    mutating func noteRepair(isSlow: Bool, now: MediaInstant) { check = (isSlow, now) }
}
