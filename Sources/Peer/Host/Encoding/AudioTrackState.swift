public import MediaCore

/// An audio track of a broadcast, as the host's user sees it.
public struct AudioTrackState: Sendable, Equatable {
    public var kind: MediaTrackKind
    public var isMuted: Bool
    /// The source runs; false if it could not be started or has gone.
    public var isCaptured: Bool
    /// How loud the source is, in dBFS (-70...0), whether it is muted or not; nil in silence.
    public var level: Double?

    public init(kind: MediaTrackKind, isMuted: Bool, isCaptured: Bool, level: Double? = nil) {
        self.level = level
        self.kind = kind
        self.isMuted = isMuted
        self.isCaptured = isCaptured
    }
}
