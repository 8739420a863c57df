import MediaCore

/// What the other side's silence means, on either side: consent to send as RFC 7675 has it, with its 30 s.
///
/// Its proof is each packet that authenticates under SRTP, of which both sides send at least one a second. That is a stronger
/// proof than a STUN answer, whose key anyone has who saw the signalling.
struct ConsentFreshness {
    enum Change: Equatable {
        /// Silent for some seconds: no media is sent until something is heard; a viewer says so to its person.
        case interrupted
        /// Silent for 30 s.
        case expired
    }

    /// From the last packet to `expired`. RFC 7675 section 5.1.
    static let limit = MediaDuration.seconds(30)
    /// From the last packet to `interrupted`.
    let patience: MediaDuration
    private(set) var lastHeard: MediaInstant
    private(set) var isInterrupted = false
    private var hasExpired = false

    init(patience: MediaDuration, now: MediaInstant) {
        self.patience = patience
        lastHeard = now
    }

    func silence(_ now: MediaInstant) -> MediaDuration { now - lastHeard }

    /// An authentic packet came.
    /// - Returns: if it ends an interruption, the silence before it.
    mutating func heard(_ now: MediaInstant) -> MediaDuration? {
        guard !hasExpired else { return nil }
        let silence = silence(now)
        lastHeard = now
        guard isInterrupted else { return nil }
        isInterrupted = false
        return silence
    }

    /// - Parameter isWayGone: there is other evidence that nothing can come, so that patience would be for nothing.
    /// - Returns: `.interrupted` and `.expired` once.
    mutating func check(_ now: MediaInstant, isWayGone: Bool = false) -> Change? {
        if hasExpired { return nil }
        if silence(now) >= Self.limit {
            hasExpired = true
            return .expired
        }
        guard !isInterrupted, isWayGone || silence(now) >= patience else { return nil }
        isInterrupted = true
        return .interrupted
    }
}
