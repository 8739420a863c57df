public import Identifiers
public import SessionDescription

/// The answer to an offer: a new session (WHEP, draft-ietf-wish-whep section 4.2).
public struct OpenedSession: Sendable {
    public let id: SessionID
    /// The SDP answer.
    public let answer: String
    /// The entity tag of the ICE session, without quotes.
    public let etag: String

    public init(id: SessionID, answer: String, etag: String) {
        self.id = id
        self.answer = answer
        self.etag = etag
    }
}

/// The host's answer to an ICE restart.
public struct RestartedSession: Sendable {
    /// The body, `application/trickle-ice-sdpfrag`.
    public let fragment: String
    /// The entity tag of the new ICE session, without quotes.
    public let etag: String

    public init(fragment: String, etag: String) {
        self.fragment = fragment
        self.etag = etag
    }
}

/// The reason why an offer or a fragment is refused. Each code maps to one HTTP status.
public struct OfferRefusal: Error, Sendable {
    public enum Code: Sendable {
        /// The body is not SDP: 400.
        case malformed
        /// The offer has no section that the host can send: 406.
        case notAcceptable
        /// The offer has no codec of the video: 406.
        case unsupportedCodec
        /// The offer parses, but cannot be answered: 422.
        case unprocessable
        /// The broadcast has ended: 410.
        case ended
        /// There are too many viewers, or the answer takes too long: 503 with Retry-After.
        case busy
        /// The host sends to no viewer itself: 403.
        case elsewhere
        /// There is no such session: 404.
        case unknownSession
    }
    public let code: Code
    /// A sentence for people.
    public let detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// For an offer that does not name exactly one certificate.
    public init(_ error: FingerprintError) {
        switch error {
        case .missing:
            self.init(.unprocessable, "The offer has no SHA-256 fingerprint, or one that cannot be read.")
        case .ambiguous: self.init(.unprocessable, "The offer has fingerprints of several certificates.")
        }
    }
}
