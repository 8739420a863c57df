public import MediaCore

/// What a host has sent and to whom. A flat record, as each value is reported by its own name.
public struct HostStatistics: Sendable {
    public var viewers: Int
    /// Viewers with media flowing.
    public var connected: Int
    /// Of those, viewers who get the base of two temporal layers alone.
    public var baseViewers = 0
    /// Of those, viewers who get the lower of two encodings.
    public var lowViewers = 0
    public var video: VideoPipelineStatistics
    public var packetsSent: Int
    public var bytesSent: Int
    public var retransmissions: Int
    public var estimate: Bitrate?
    public var roundTrip: MediaDuration?
    /// What waits to be sent to the viewer for whom most does, as time at its rate.
    public var queue: MediaDuration?
    /// Of the viewer who loses most, 0...1.
    public var fractionLost = 0.0
    /// How each viewer with media flowing is reached: "direct, ..." or "relayed, ...".
    public var paths: [String] = []
    /// What holds the picture back: nil if nothing does.
    public var limit: String?
    /// What each viewer of `paths` gets, in the same order.
    public var layers: [ViewerLayer] = []
    /// How often a viewer had to wait over 150 ms on this side until a change of the picture had been sent to it whole,
    /// of all viewers, and how long in all. What they lose on the way only they can see.
    public var freezes = 0
    public var freezeTime = MediaDuration.zero
    /// What viewers asked for because they could not go on: key frames, or frames made from one that they had kept.
    public var keyframeRequests = 0
    /// Packets that were not what they should be, by everyone.
    public var badPackets: Int
}

/// What a viewer gets of what the host makes.
public enum ViewerLayer: String, Sendable, CaseIterable {
    /// The main encoding whole.
    case all
    /// Of the main encoding, the base of two temporal layers alone.
    case base
    /// The lower encoding, for those who are much slower than others.
    case low
    /// Of the lower encoding, the base of two temporal layers alone.
    case lowBase = "low base"
    /// Nothing for now: it could not follow, or nothing comes from it.
    case none
}
