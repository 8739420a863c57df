import Admission

/// The counters of a signalling server since its start. Every refusal has a counter.
public struct SignalingStatistics: Sendable, Equatable {
    public struct Connections: Sendable, Equatable {
        public var accepted = 0
        public var refused = 0
        /// Closed in favour of a connection from an address that has fewer.
        public var displaced = 0
        /// The first request did not arrive in time after the connection was opened.
        public var handshakesTimedOut = 0
        /// Closed because the peer did not read.
        public var writesTimedOut = 0
        /// HTTP without TLS.
        public var plainHTTP = 0
    }

    /// Of knocks, or of pairings.
    public struct Approvals: Sendable, Equatable {
        public var requests = 0
        public var accepted = 0
        public var refused = 0
        public var unanswered = 0
        public var withdrawn = 0
        /// Too many, or too fast (429), or the service takes no further broadcast (503).
        public var limited = 0

        mutating func count<Request: ApprovalRequest>(_ outcome: ApprovalTable<Request>.Outcome) {
            switch outcome {
            case .granted: accepted += 1
            case .refused: refused += 1
            case .unanswered: unanswered += 1
            case .withdrawn, .ended, .replaced, .displaced: withdrawn += 1
            case .crowded, .busy: limited += 1
            // A granted pairing's end.
            case .expired: break
            }
        }
    }

    public struct Refusals: Sendable, Equatable {
        /// Wrong proofs and signatures.
        public var wrongProofs = 0
        public var wrongTokens = 0
        /// Offers whose certificate is not the token's.
        public var wrongFingerprints = 0
        public var malformed = 0
        public var tooLarge = 0
    }

    public var connections = Connections()
    public var knocks = Approvals()
    public var pairings = Approvals()
    public var refusals = Refusals()
    public var requests = 0
    /// Answered with 429; the connection was closed.
    public var requestsLimited = 0
    public var offers = 0
    public var offersRefused = 0
    public var sessions = 0
    /// ICE restarts, answered with 200.
    public var restarts = 0
    public var eventStreams = 0
    public var eventsDropped = 0
    /// WebSockets of messages.
    public var messageSockets = 0

    public init() {}
}
