public import MediaCore

/// What a session has received; `PlaybackStatistics` says what became of it.
public struct ViewerStatistics: Sendable {
    public var packetsReceived: Int
    public var bytesReceived: Int
    public var packetsLost: Int
    public var nacks: Int
    public var keyframeRequests: Int
    public var roundTrip: MediaDuration?
    /// What the host believes that the path to here carries; nil if it does not say.
    public var estimate: Bitrate?
    /// Frames made from one that was kept, with which the picture went on after a loss without a key frame.
    public var recoveries: Int
    /// How long sound waits for what is late; pictures wait for nothing.
    public var queue: MediaDuration?
    /// Packets that came after all, when asked for again.
    public var repaired: Int
    /// Times for which nothing could be shown although something was there, and how long they took.
    public var freezes: Int
    public var freezeTime: MediaDuration
    /// "direct, ..." or "relayed, ...".
    public var path: String
    /// The highest temporal layer of the frames since the last report; nil if none came.
    public var layer: Int?
    public var badPackets: Int
}
