public import MediaCore

/// Tracks consent to send (RFC 7675) and tells when a peer has fallen silent.
///
/// RFC 7675 proves consent by STUN answers. Here each packet that authenticates under SRTP proves it, of which both
/// peers send at least one a second: anyone who saw the signalling has the key of a STUN answer, but not of SRTP.
public struct ConsentFreshness: Sendable {
    public enum Change: Equatable, Sendable {
        /// The peer has been silent for `patience`. No media is sent until it is heard.
        case interrupted
        /// The peer has been silent for `limit`.
        case expired
    }

    /// The silence after which consent expires (RFC 7675 section 5.1).
    public static let limit = MediaDuration.seconds(30)
    /// The silence that is an interruption.
    public let patience: MediaDuration
    public private(set) var lastHeard: MediaInstant
    public private(set) var isInterrupted = false
    private var hasExpired = false

    public init(patience: MediaDuration, now: MediaInstant) {
        self.patience = patience
        lastHeard = now
    }

    public func silence(_ now: MediaInstant) -> MediaDuration { now - lastHeard }

    /// An authentic packet came.
    /// - Returns: the silence before it, if it ends an interruption.
    public mutating func heard(_ now: MediaInstant) -> MediaDuration? {
        guard !hasExpired else { return nil }
        let silence = silence(now)
        lastHeard = now
        guard isInterrupted else { return nil }
        isInterrupted = false
        return silence
    }

    /// - Parameter isPathGone: other evidence says that nothing can come; the interruption begins at once.
    /// - Returns: `.interrupted` and `.expired` once each.
    public mutating func check(_ now: MediaInstant, isPathGone: Bool = false) -> Change? {
        if hasExpired { return nil }
        if silence(now) >= Self.limit {
            hasExpired = true
            return .expired
        }
        guard !isInterrupted, isPathGone || silence(now) >= patience else { return nil }
        isInterrupted = true
        return .interrupted
    }
}
