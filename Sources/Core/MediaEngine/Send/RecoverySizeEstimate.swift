import MediaCore

/// About how large a recovery frame would be: as the largest frame of the last second, if frames are repetitive.
struct RecoverySizeEstimate {
    private static let memory = MediaDuration.seconds(1)

    /// Nil: it is not known, and may be that of the whole picture.
    private(set) var bytes: Int?
    private var largest: (bytes: Int, at: MediaInstant)?
    private var lastRepetitive: MediaInstant?

    mutating func note(_ frame: Int, isRepetitive: Bool, now: MediaInstant) {
        let isLargest = largest.map { frame >= $0.bytes || now - $0.at > Self.memory } ?? true
        if isLargest { largest = (frame, now) }
        if isRepetitive { lastRepetitive = now }
        bytes = lastRepetitive.map { now - $0 < Self.memory } ?? false ? largest?.bytes : nil
    }
}
