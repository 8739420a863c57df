public import MediaCore

/// An audio track of a broadcast, as the host's user sees it.
public struct AudioTrackState: Sendable, Equatable {
    public var kind: MediaTrackKind
    public var isMuted: Bool
    /// The source runs; false if it could not be started or has gone.
    public var isCaptured: Bool

    public init(kind: MediaTrackKind, isMuted: Bool, isCaptured: Bool) {
        self.kind = kind
        self.isMuted = isMuted
        self.isCaptured = isCaptured
    }
}
