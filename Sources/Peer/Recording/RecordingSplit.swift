public import MediaCore

/// When a recording goes on in another file. The next file begins with a key frame.
public enum RecordingSplit: Equatable, Sendable {
    case duration(MediaDuration)
    /// In bytes; a file becomes somewhat larger.
    case size(Int)
}
