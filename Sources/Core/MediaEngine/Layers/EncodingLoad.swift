public import MediaCore

/// What the viewers of one encoding need together, gathered one by one: no array of them is made, as this is asked after each frame.
public struct EncodingLoad: Sendable {
    /// Viewers that follow, and those of them with something waiting in front of the network.
    public private(set) var following = 0
    public private(set) var congested = 0
    /// Those who wait for a key frame.
    public private(set) var waiting = 0
    private var slowest: Bitrate?
    private var fastest: Bitrate?
    private var congestedSince: MediaInstant?

    public init() {}

    public var isEmpty: Bool { following == 0 && waiting == 0 }

    /// - Parameters:
    ///   - rate: what its frames may take; nil if it does not count, as it gets none for a while.
    ///   - isWaiting: for a key frame; what waits in front of the network then is to be replaced.
    ///   - congestedSince: when something began to wait that still does.
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

    /// Some have room while others do not.
    public var isDivided: Bool { congested > 0 && congested < following }

    /// What to ask of the encoder.
    /// - Parameter wasLayered: what the last demand said.
    public func demand(maximum: Bitrate, wasLayered: Bool, now: MediaInstant) -> EncodingTarget {
        let least = Bitrate.kilobits(100)
        let low = max(slowest ?? maximum, least)
        let high = max(fastest ?? maximum, low)
        let ratio = Double(high.bitsPerSecond) / Double(low.bitsPerSecond)
        let isStuck = isDivided && congestedSince.map { now - $0 > Self.patience } ?? false
        let isLayered = following &+ waiting > 1 && (isStuck || ratio > (wasLayered ? 1.15 : 1.3))
        return EncodingTarget(
            bitrate: isLayered ? high : low,
            layering: isLayered ? .init(baseBitrate: low, isBaseBlocked: isDivided) : nil,
            isBlocked: congested > 0 && (congested == following || !isLayered))
    }

    /// How long the others wait for one whose frame has not left yet, where all are about equally fast.
    static let patience = MediaDuration.milliseconds(100)
}

/// What the viewers of one encoding want of it.
public struct EncodingTarget: Equatable, Sendable {
    public var bitrate: Bitrate
    /// nil: one layer for all.
    public var layering: VideoEncodeRequest.Layering?
    /// Frames wait everywhere: make no new one yet.
    public var isBlocked: Bool

    public init(bitrate: Bitrate, layering: VideoEncodeRequest.Layering? = nil, isBlocked: Bool = false) {
        self.bitrate = bitrate
        self.layering = layering
        self.isBlocked = isBlocked
    }
}
