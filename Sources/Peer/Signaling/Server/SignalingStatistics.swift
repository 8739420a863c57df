/// The counters of a signalling server since its start. Every refusal has a counter. A flat record,
/// as each value is reported by its own name.
public struct SignalingStatistics: Sendable, Equatable {
    public var requests = 0
    /// Answered with 429; the connection was closed.
    public var requestsLimited = 0
    public var connections = 0
    public var connectionsRefused = 0
    /// Closed in favour of a connection from an address that has fewer.
    public var connectionsDisplaced = 0
    /// The first request did not arrive in time after the connection was opened.
    public var handshakesTimedOut = 0
    /// Closed because the peer did not read.
    public var writesTimedOut = 0
    /// HTTP without TLS.
    public var plainHTTP = 0
    public var knocks = 0
    public var knocksAccepted = 0
    public var knocksRefused = 0
    public var knocksUnanswered = 0
    public var knocksWithdrawn = 0
    /// Too many, or too fast (429).
    public var knocksLimited = 0
    public var pairings = 0
    public var pairingsAccepted = 0
    public var pairingsRefused = 0
    public var pairingsUnanswered = 0
    public var pairingsWithdrawn = 0
    /// Too many, or too fast (429), or the service takes no further broadcast (503).
    public var pairingsLimited = 0
    /// Wrong proofs and signatures.
    public var wrongProofs = 0
    public var wrongTokens = 0
    /// Offers whose certificate is not the token's.
    public var wrongFingerprints = 0
    public var malformed = 0
    public var tooLarge = 0
    public var offers = 0
    public var offersRefused = 0
    public var sessions = 0
    /// ICE restarts, answered with 200.
    public var restarts = 0
    public var eventStreams = 0
    public var eventsDropped = 0

    public init() {}
}
