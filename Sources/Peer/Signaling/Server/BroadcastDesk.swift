public import SessionDescription

/// The host as its signalling server sees it: who may come in, and what answers an offer.
///
/// Called from any thread, several calls at a time. The server has checked proofs, signatures, tokens and limits before it calls.
public protocol BroadcastDesk: Sendable {
    /// A person (or a policy) answers. Cancelled, and followed by `knockWithdrawn`, when the answer is not needed any more.
    func decide(_ knock: Knock) async -> KnockDecision

    /// Nobody waits for the answer to this knock any more: take the question away.
    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async

    /// Answers a WHEP offer. Its fingerprint has been checked against `viewer.fingerprint` already; the DTLS handshake has
    /// to check it again. After 6 s the server gives up and closes the session that comes late.
    func open(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession

    /// A trickle fragment (RFC 8840) for a session of `open`: more candidates, or new credentials, which restart ICE
    /// (RFC 9725 section 4.4). A restart that cannot be done is thrown, and the session stays as it is.
    /// - Returns: the host's side of a restart; nil for candidates.
    func patch(_ fragment: String, _ session: SessionID) async throws(OfferRefusal) -> RestartedSession?

    /// The viewer of these sessions has an event stream again, or has closed its last one. An outage closes nothing: the
    /// other side would have to say so.
    func listening(_ isOpen: Bool, _ sessions: [SessionID]) async

    /// The viewer asks for the end of its session. May come twice.
    func close(_ session: SessionID) async
}

extension BroadcastDesk {
    public func listening(_ isOpen: Bool, _ sessions: [SessionID]) async {}
}

/// 128 random bits that name something to the one who was told.
public struct RandomName: Hashable, Sendable, CustomStringConvertible {
    /// 22 characters of base64url.
    public let text: String
    /// The first four characters: enough for logs, useless to an attacker.
    public var description: String { text.prefix(4) + "..." }

    public static func random() -> RandomName { RandomName(text: Base64URL.encode(randomBytes(16))) }

    private init(text: String) { self.text = text }

    /// Nil unless it is 22 characters of base64url.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 22, text.utf8.allSatisfy({ Base64URL.value(of: $0) != nil }) else { return nil }
        self.text = String(text)
    }
}

func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

public typealias KnockID = RandomName
public typealias SessionID = RandomName
/// One run of a viewer's program, which chooses it.
public typealias ClientInstanceID = RandomName

/// Somebody who knows the link asks to come in.
public struct Knock: Sendable {
    /// How long a knock waits for its answer.
    public static let answerTime: Duration = .seconds(60)

    /// Names the question. It is not the viewer's ticket, which the server keeps to itself.
    public let id: KnockID
    /// What the viewer calls itself, at most 64 scalars, without control characters or direction overrides. Not verified.
    public let name: String
    /// "share", "Firefox", "Chromium", "Safari", "browser", or the program's own name. Not verified.
    public let kind: String
    /// Where the request came from, without port.
    public let address: String
    /// Who it is: proven by a signature before anybody is asked.
    public let identity: ViewerIdentity
    /// Of this knock; the viewer shows them too.
    public let words: ShortAuthenticationString

    /// SHA-256 of the viewer's DTLS certificate, 32 bytes.
    public var fingerprint: [UInt8] { identity.fingerprint }
}

public enum KnockDecision: Sendable, Equatable {
    case accepted
    /// Let in without a question: the identity was let in for good before.
    case remembered
    /// With a word to the viewer, or nil.
    case refused(String?)
    /// Nobody is there to answer.
    case unanswered
}

public enum KnockWithdrawal: Sendable, Equatable {
    /// Nobody answered in time.
    case unanswered
    /// The viewer has gone.
    case left
    /// The same identity has knocked again; its newer knock follows.
    case replaced
    /// All places were taken, and its address held the most of them.
    case displaced
    /// The broadcast has ended.
    case ended
}

/// Somebody who was let in.
public struct Viewer: Sendable {
    /// The accepted knock; nil for a player that came with the host's fixed token.
    public let knock: KnockID?
    public let name: String
    public let kind: String
    public let address: String
    /// Of the DTLS certificate that alone may receive media, SHA-256, 32 bytes.
    public let fingerprint: [UInt8]
    /// Whose knock was accepted; nil for a player that came with the host's fixed token. Sessions replace each other by this, not
    /// by `fingerprint`, which anybody can claim.
    public var identity: ViewerIdentity?
    /// Of the knock that was accepted.
    public var words: ShortAuthenticationString?
    /// Tells programs with one certificate apart, and stays the same when one of them comes again; nil if it says nothing.
    public var visit: ClientInstanceID?
}

public struct OpenedSession: Sendable {
    public let id: SessionID
    /// SDP.
    public let answer: String
    /// Without quotes; names the ICE session.
    public let etag: String

    public init(id: SessionID, answer: String, etag: String) {
        self.id = id
        self.answer = answer
        self.etag = etag
    }
}

/// The host's side of an ICE restart.
public struct RestartedSession: Sendable {
    /// `application/trickle-ice-sdpfrag`.
    public let fragment: String
    /// Without quotes; names the new ICE session.
    public let etag: String

    public init(fragment: String, etag: String) {
        self.fragment = fragment
        self.etag = etag
    }
}

/// Why an offer or a fragment gets no answer.
public struct OfferRefusal: Error, Sendable {
    public enum Code: Sendable {
        /// Not SDP: 400.
        case malformed
        /// Nothing in it that we can send: 406.
        case notAcceptable
        /// Understood, but not possible: 422.
        case unprocessable
        /// Nothing is live: 409 with Retry-After.
        case notLive
        /// Too many viewers, or an answer takes too long: 503 with Retry-After.
        case busy
        /// 404.
        case unknownSession
    }
    public let code: Code
    /// A sentence for people.
    public let detail: String

    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// An offer that does not name one certificate.
    public init(_ error: FingerprintError) {
        switch error {
        case .missing:
            self.init(.unprocessable, "The offer has no SHA-256 fingerprint, or one that cannot be read.")
        case .ambiguous: self.init(.unprocessable, "The offer has fingerprints of several certificates.")
        }
    }
}
