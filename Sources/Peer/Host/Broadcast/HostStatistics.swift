public import MediaCore

/// The statistics of a host.
public struct HostStatistics: Sendable {
    /// Those who watch, wherever: also at a relay, or as a service tells. 0 for a service that does not tell.
    public var viewers = 0
    /// The relay or the service that receives the broadcast; nil while this host sends to each viewer itself.
    public var destination: BroadcastReceiver?
    /// Where newcomers reach the host now; nil: at the link of its start.
    public var link: String?
    /// Viewers with media flowing.
    public var connected = 0
    /// The connected viewers that get only the base of two temporal layers.
    public var baseViewers = 0
    /// The connected viewers that get the lower of two encodings.
    public var lowViewers = 0
    public var video: VideoPipelineStatistics
    /// The host's user has not agreed yet to broadcast.
    public private(set) var isAsking = false
    /// The holds of the host's user.
    public var holds: Set<BroadcastHold> = []
    /// The audio tracks, in their order.
    public var audio: [AudioTrackState] = []
    /// What all viewers have got so far.
    public var sent = ViewerTotals()
    public var paths = PathExtremes()
    /// The selected pair of each viewer with media flowing: "direct, ..." or "relayed, ...".
    public var routes: [String] = []
    /// The layer of each viewer of `routes`, in the same order.
    public var layers: [ViewerLayer] = []

    package init(video: VideoPipelineStatistics) { self.video = video }

    /// The host's user has paused the broadcast.
    public var isPaused: Bool { holds.contains(.pause) }

    /// Those of a broadcast that has not begun, because its user has not agreed yet.
    public static var asking: HostStatistics {
        var statistics = HostStatistics(video: VideoPipelineStatistics())
        statistics.isAsking = true
        return statistics
    }
}

/// Totals over all viewers of a broadcast, also those that have left.
public struct ViewerTotals: Sendable {
    public var packets = 0
    public var bytes = 0
    public var retransmissions = 0
    /// Malformed, unexpected or unauthentic packets of viewers.
    public var badPackets = 0
    /// Viewers' requests after a loss: for key frames, or for recovery frames.
    public var keyframeRequests = 0
    /// How often a change of the screen took over 150 ms on this side until it was sent completely, and the total
    /// time. Freezes caused by loss on the network are known to viewers only.
    public var freezes = 0
    public var freezeTime = MediaDuration.zero
}

/// The worst of all viewers' paths, each value for itself.
public struct PathExtremes: Sendable {
    public var estimate: Bitrate?
    public var roundTrip: MediaDuration?
    /// The largest backlog, as time at the viewer's rate.
    public var backlog: MediaDuration?
    /// The highest packet loss, 0...1.
    public var fractionLost = 0.0
    /// The reason that limits the bitrate; nil if nothing does.
    public var qualityLimitationReason: String?
}

/// A relay or a service that receives a broadcast; or a file, for a recording that nobody watches.
public struct BroadcastReceiver: Codable, Equatable, Sendable {
    /// The receiver of a recording.
    public static let file = BroadcastReceiver(name: "a file", countsViewers: false)

    /// As it calls itself.
    public var name: String
    /// Whether it tells how many watch there.
    public var countsViewers: Bool
    /// As it tells; nil if it does not.
    public var likes: Int?
    /// The newest comment of a viewer there, cleaned.
    public var comment: BroadcastComment?
    /// It is encrypted for the viewers, so that the receiver cannot watch; nil if it is not, and from a host of before.
    public var isEncrypted: Bool?

    public init(name: String, countsViewers: Bool) {
        self.name = name
        self.countsViewers = countsViewers
    }
}

/// The encoding and layers that a viewer gets.
public enum ViewerLayer: String, Sendable, CaseIterable {
    /// The main encoding with all layers.
    case all
    /// The base of two temporal layers of the main encoding.
    case base
    /// The lower encoding with all layers, for viewers that are much slower than others.
    case low
    /// The base of two temporal layers of the lower encoding.
    case lowBase = "low base"
    /// No frames: the viewer has been cut off, or is silent.
    case none
}
