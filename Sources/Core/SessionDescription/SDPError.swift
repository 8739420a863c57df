/// Why a text cannot be parsed as a session description. RFC 8866.
public enum SDPError: Error, Hashable, Sendable {
    /// The text does not begin with `v=0`, contains control characters, or has a line that is not `x=...`.
    case notSDP
    /// The text exceeds one of ``SDPLimits``.
    case tooLarge
    /// An `m=` line is malformed; counted from 0.
    case malformedMedia(index: Int)
}

/// The limits of a description from the network.
public enum SDPLimits {
    /// Bytes of UTF-8.
    public static let bytes = 65_536
    public static let lines = 2_000
    public static let mediaSections = 16
    /// The number of candidates that are kept; more are counted and dropped.
    public static let candidates = 40
}
