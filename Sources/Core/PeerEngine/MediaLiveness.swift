public import MediaCore

/// Tells when a peer has fallen silent: how long ago the last authentic SRTP or SRTCP packet came from it.
///
/// This is not the consent of RFC 7675, which an answered STUN check gives for one address (`ConsentChecks` in
/// ICETransport). Anyone who saw the signalling can answer such a check; only the peer has the keys of SRTP. Both peers
/// send at least one packet a second.
public struct MediaLiveness: Sendable {
    public enum Change: Equatable, Sendable {
        /// The peer has been silent for `interruptionThreshold`. No media is sent until it is heard.
        case interrupted
        /// The peer has been silent for `limit`.
        case expired
    }

    /// The silence after which the session is over; as long as consent lasts (RFC 7675 section 5.1).
    public static let limit = MediaDuration.seconds(30)
    /// The silence that is an interruption.
    public let interruptionThreshold: MediaDuration
    public private(set) var lastHeard: MediaInstant
    public private(set) var isInterrupted = false
    private var hasExpired = false

    public init(interruptionThreshold: MediaDuration, now: MediaInstant) {
        self.interruptionThreshold = interruptionThreshold
        lastHeard = now
    }

    public func silence(_ now: MediaInstant) -> MediaDuration { now - lastHeard }

    /// Notes an authentic packet.
    /// - Returns: the silence before it, if it ends an interruption.
    public mutating func heard(_ now: MediaInstant) -> MediaDuration? {
        guard !hasExpired else { return nil }
        let silence = silence(now)
        lastHeard = now
        guard isInterrupted else { return nil }
        isInterrupted = false
        return silence
    }

    /// - Parameter isPathGone: whether the path is known to be lost; the interruption then begins at once.
    /// - Returns: `.interrupted` and `.expired` once each.
    public mutating func check(_ now: MediaInstant, isPathGone: Bool = false) -> Change? {
        if hasExpired { return nil }
        if silence(now) >= Self.limit {
            hasExpired = true
            return .expired
        }
        guard !isInterrupted, isPathGone || silence(now) >= interruptionThreshold else { return nil }
        isInterrupted = true
        return .interrupted
    }
}
