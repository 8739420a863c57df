public import MediaCore

/// The bandwidth of the viewers of a forwarded stream, for its publisher: what the fastest can get limits the stream,
/// and what the slowest can get limits its base layer.
public struct AudienceEstimates: Equatable, Sendable {
    public var fastest: Bitrate
    /// Of the viewers that have at least a third of the fastest. A host gives those with less a second encoding, which
    /// a relay does not get, so they must not slow down the base layer of the others.
    public var slowest: Bitrate

    static let leastShare = 3
    /// The percentage of the slowest viewer's bandwidth that the base layer may take. A publisher does not know when
    /// that viewer has a backlog, and cannot wait for it as for a viewer of its own.
    static let baseShare = 85

    /// - Parameters:
    ///   - estimates: of the connected viewers, also of those that were cut off: they come back to a base layer that
    ///     they can take. Read twice.
    ///   - behind: what viewers that are relays tell of their slowest viewers. The fastest viewer is none of these.
    /// - Returns: nil if there are no viewers.
    public init?(_ estimates: some Sequence<Bitrate>, behind: [Bitrate] = []) {
        guard let fastest = estimates.max() else { return nil }
        let least = Bitrate(bitsPerSecond: fastest.bitsPerSecond / Self.leastShare)
        self.fastest = fastest
        let slow = [estimates.lazy.filter { $0 >= least }.min(), behind.lazy.filter { $0 >= least }.min()]
        slowest = min(slow.lazy.compactMap(\.self).min() ?? fastest, fastest)
    }

    /// Nil where temporal layers would not even go on; see `EncodingAudience.target`.
    var slower: Bitrate? {
        Double(fastest.bitsPerSecond) > 1.15 * Double(slowest.bitsPerSecond) ? slowest : nil
    }

    /// The bitrate for video of a relay's slowest viewer, as the relay's publisher counts it. It is never less than a
    /// third of the relay's own, whatever the relay tells.
    /// - Parameters:
    ///   - slowest: as told by the relay.
    ///   - estimate: of the connection to the relay.
    ///   - video: the part of `estimate` for video: 97 % after audio and retransmissions, which the slowest viewer
    ///     gets, too.
    /// - Returns: nil if the connection to the relay is not faster.
    public static func video(ofSlowest slowest: Bitrate?, estimate: Bitrate, video: Bitrate) -> Bitrate? {
        guard let slowest, slowest < estimate else { return nil }
        let usable = max(slowest.bitsPerSecond, 0) / 100 &* baseShare
        let difference = (estimate.bitsPerSecond &- usable) / 100 &* 97
        return Bitrate(bitsPerSecond: max(video.bitsPerSecond &- difference, video.bitsPerSecond / leastShare))
    }
}
