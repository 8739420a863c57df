public import MediaCore

/// The statistics of what a session has received; `PlaybackStatistics` has those of its playback.
public struct ViewerStatistics: Sendable {
    public var packetsReceived: Int
    public var bytesReceived: Int
    public var packetsLost: Int
    public var nacks: Int
    public var keyframeRequests: Int
    public var roundTrip: MediaDuration?
    /// The host's bandwidth estimate for the path to this viewer; nil if the host does not report it.
    public var estimate: Bitrate?
    /// Recovery frames received, which ended a loss without a key frame.
    public var recoveries: Int
    /// The audio jitter buffer's delay. Video has no jitter buffer.
    public var audioJitterBufferDelay: MediaDuration?
    /// Lost packets that a retransmission repaired.
    public var repaired: Int
    /// Freezes over 150 ms: how often, and how long in all, frames waited for missing packets.
    public var freezes: Int
    public var freezeTime: MediaDuration
    /// "direct, ..." or "relayed, ...".
    public var path: String
    /// The highest temporal layer of the frames since the last report; nil if none came.
    public var layer: Int?
    public var badPackets: Int
}
