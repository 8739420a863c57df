/// Why a text is not a session description that this project reads. RFC 8866.
public enum SDPError: Error, Hashable, Sendable {
    /// It does not begin with `v=0`, or holds control characters, or a line is not `x=...`.
    case notSDP
    /// Over one of ``SDPLimits``.
    case tooLarge
    /// An `m=` line that cannot be read; counted from 0.
    case malformedMedia(index: Int)
}

/// What a description from the network may hold at most.
public enum SDPLimits {
    /// Bytes of UTF-8.
    public static let bytes = 65_536
    public static let lines = 2_000
    public static let mediaSections = 16
    /// Candidates that are kept; more are counted and dropped.
    public static let candidates = 40
}
