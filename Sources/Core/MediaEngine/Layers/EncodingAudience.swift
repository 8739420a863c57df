public import MediaCore

/// Sums up the bandwidth and the backlog of all viewers of one encoding, to derive the encoder's target bitrate and
/// layering. Viewers are added one by one without an array, as this runs after each frame.
public struct EncodingAudience: Sendable {
    /// The number of viewers that follow the encoding, and how many of them have a backlog in front of the network.
    public private(set) var following = 0
    public private(set) var congested = 0
    /// The number of viewers that wait for a key frame.
    public private(set) var waiting = 0
    private var slowest: Bitrate?
    private var fastest: Bitrate?
    private var congestedSince: MediaInstant?

    public init() {}

    public var isEmpty: Bool { following == 0 && waiting == 0 }

    /// Adds one viewer.
    /// - Parameters:
    ///   - rate: the bitrate for its video; nil if it does not count, as the viewer gets no frames for a while.
    ///   - isWaiting: the viewer waits for a key frame, which will replace its backlog.
    ///   - congestedSince: when its backlog began; nil if there is none.
    public mutating func add(rate: Bitrate?, isWaiting: Bool, congestedSince since: MediaInstant?) {
        if let rate {
            slowest = slowest.map { min($0, rate) } ?? rate
            fastest = fastest.map { max($0, rate) } ?? rate
        }
        guard !isWaiting else { return waiting &+= 1 }
        following &+= 1
        guard let since else { return }
        congested &+= 1
        congestedSince = congestedSince.map { min($0, since) } ?? since
    }

    /// Some viewers have a backlog while others have none.
    public var isDivided: Bool { congested > 0 && congested < following }

    /// The target for the encoder.
    /// - Parameter wasLayered: the last target had temporal layers. The ratio of rates that leaves layering (1.15) is
    ///   below the one that begins it (1.3).
    public func target(maximum: Bitrate, wasLayered: Bool, now: MediaInstant) -> EncodingTarget {
        let least = Bitrate.kilobits(100)
        let low = max(slowest ?? maximum, least)
        let high = max(fastest ?? maximum, low)
        let ratio = Double(high.bitsPerSecond) / Double(low.bitsPerSecond)
        let isStuck = isDivided && congestedSince.map { now - $0 > Self.layeringDelay } ?? false
        let isLayered = following &+ waiting > 1 && (isStuck || ratio > (wasLayered ? 1.15 : 1.3))
        return EncodingTarget(
            bitrate: isLayered ? high : low,
            layering: isLayered ? .init(baseBitrate: low, isBaseBlocked: isDivided) : nil,
            isBlocked: congested > 0 && (congested == following || !isLayered))
    }

    /// How long viewers at similar rates wait for one with a backlog before layering begins.
    static let layeringDelay = MediaDuration.milliseconds(100)
}

/// What the viewers of one encoding need of it: the bitrate, temporal layers, and whether frames may be made.
public struct EncodingTarget: Equatable, Sendable {
    public var bitrate: Bitrate
    /// nil: one temporal layer for all viewers.
    public var layering: VideoEncodeRequest.Layering?
    /// No frame is to be made now: all viewers have a backlog, or one of them has and there are no layers.
    public var isBlocked: Bool

    public init(bitrate: Bitrate, layering: VideoEncodeRequest.Layering? = nil, isBlocked: Bool = false) {
        self.bitrate = bitrate
        self.layering = layering
        self.isBlocked = isBlocked
    }
}
