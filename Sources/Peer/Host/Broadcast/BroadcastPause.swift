import MediaCore

/// Whether a broadcast is paused, and what is withheld from its viewers meanwhile. A value; time is an argument.
struct BroadcastPause {
    /// When the pause began; nil while the broadcast runs.
    private(set) var since: MediaInstant?
    private var hasWithheldFrame = false

    struct End: Equatable {
        var duration: MediaDuration
        /// A frame was withheld, so the viewers can continue with a key frame only.
        var needsKeyframe: Bool
    }

    /// - Returns: false if the broadcast is paused already.
    mutating func begin(now: MediaInstant) -> Bool {
        guard since == nil else { return false }
        since = now
        hasWithheldFrame = false
        return true
    }

    /// - Returns: nil if the broadcast is not paused.
    mutating func end(now: MediaInstant) -> End? {
        guard let since else { return nil }
        self.since = nil
        return End(duration: now - since, needsKeyframe: hasWithheldFrame)
    }

    /// Whether a frame of this instant is withheld: it was captured after the pause began.
    mutating func withholdsFrame(captured: MediaInstant) -> Bool {
        guard withholds(captured: captured) else { return false }
        hasWithheldFrame = true
        return true
    }

    func withholds(captured: MediaInstant) -> Bool { since.map { captured > $0 } ?? false }
}
