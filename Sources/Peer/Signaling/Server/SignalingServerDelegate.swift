public import SessionDescription

/// The host as the signalling server sees it: decides on knocks and answers offers.
///
/// Called from any thread, several calls at a time. The server checks proofs, signatures, tokens and limits before it
/// calls.
public protocol SignalingServerDelegate: Sendable {
    /// Decides on a knock, by asking a person or by a policy. When the decision is not needed any more, the task is
    /// cancelled and `knockWithdrawn` follows.
    func decide(_ knock: Knock) async -> KnockDecision

    /// Reports that nobody waits for the decision any more, so the question can be removed.
    func knockWithdrawn(_ knock: KnockID, because reason: KnockWithdrawal) async

    /// Answers a WHEP offer. The server has compared the offer's fingerprint with `viewer.fingerprint`; the DTLS
    /// handshake has to check it again. After 6 s the server stops waiting, and closes a session that is opened later.
    func open(offer: String, viewer: Viewer) async throws(OfferRefusal) -> OpenedSession

    /// Applies a trickle fragment (RFC 8840) to a session of `open`: more candidates, or new credentials, which restart
    /// ICE (RFC 9725 section 4.4). If the restart is not possible, this throws and the session stays unchanged.
    /// - Returns: the host's answer to a restart; nil for candidates.
    func patch(_ fragment: String, _ session: SessionID) async throws(OfferRefusal) -> RestartedSession?

    /// Reports that the viewer of these sessions has opened an event stream, or has closed its last one. During an
    /// outage nothing is reported: the viewer's FIN or RST cannot arrive.
    func listening(_ isOpen: Bool, _ sessions: [SessionID]) async

    /// Closes a session because its viewer asks for it. May be called twice.
    func close(_ session: SessionID) async
}

extension SignalingServerDelegate {
    public func listening(_ isOpen: Bool, _ sessions: [SessionID]) async {}
}

/// An identifier of 128 random bits, known only to those who were told it.
public struct RandomName: Hashable, Sendable, CustomStringConvertible {
    /// 22 characters of base64url.
    public let text: String
    /// The first four characters: enough for logs, of no use to an attacker.
    public var description: String { text.prefix(4) + "..." }

    public static func random() -> RandomName { RandomName(text: Base64URL.encode(randomBytes(16))) }

    private init(text: String) { self.text = text }

    /// Returns nil unless `text` is 22 characters of base64url.
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
/// Identifies one run of a viewer's program, which chooses it.
public typealias ClientInstanceID = RandomName

/// A request to be let in, from somebody who knows the link.
public struct Knock: Sendable {
    /// Time limit for the answer to a knock.
    public static let answerTime: Duration = .seconds(60)

    /// Identifies the question to the host's user. It differs from the viewer's ticket, which stays within the server.
    public let id: KnockID
    /// The name that the viewer chose: at most 64 scalars, no control characters, no direction overrides. Not verified.
    public let name: String
    /// "share", "Firefox", "Chromium", "Safari", "browser", or the program's own name. Not verified.
    public let kind: String
    /// The address of the connection, without port.
    public let address: String
    /// The viewer's identity. Its signature has been checked before anybody is asked.
    public let identity: ViewerIdentity
    /// The words of this knock; the viewer shows them, too.
    public let words: ShortAuthenticationString

    /// SHA-256 of the viewer's DTLS certificate, 32 bytes.
    public var fingerprint: [UInt8] { identity.fingerprint }
}

public enum KnockDecision: Sendable, Equatable {
    case accepted
    /// Accepted without a question, because the identity is a known viewer.
    case remembered
    /// The value is a message to the viewer, or nil.
    case refused(String?)
    /// Nobody is there to answer.
    case unanswered
}

public enum KnockWithdrawal: Sendable, Equatable {
    /// Nobody answered in time.
    case unanswered
    /// The viewer has left.
    case left
    /// The same identity has knocked again; its newer knock follows.
    case replaced
    /// The queue was full, and this knock's address had the most knocks in it.
    case displaced
    /// The broadcast has ended.
    case ended
}

/// A viewer that was let in.
public struct Viewer: Sendable {
    /// The accepted knock; nil for a player with the host's fixed token.
    public let knock: KnockID?
    public let name: String
    public let kind: String
    public let address: String
    /// SHA-256 of the only DTLS certificate that may receive media, 32 bytes.
    public let fingerprint: [UInt8]
    /// The identity of the accepted knock; nil for a player with the host's fixed token. Sessions replace each other by
    /// `identity` and not by `fingerprint`, which anybody can claim.
    public var identity: ViewerIdentity?
    /// The words of the accepted knock.
    public var words: ShortAuthenticationString?
    /// Distinguishes programs that use one certificate. It stays the same when a program joins again; nil if the viewer
    /// sent none.
    public var clientInstance: ClientInstanceID?
}

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

/// Why an offer or a fragment is refused. Each code maps to one HTTP status.
public struct OfferRefusal: Error, Sendable {
    public enum Code: Sendable {
        /// The body is not SDP: 400.
        case malformed
        /// The offer has no section that the host can send: 406.
        case notAcceptable
        /// The offer parses, but cannot be answered: 422.
        case unprocessable
        /// The broadcast is not live: 409 with Retry-After.
        case notLive
        /// There are too many viewers, or the answer takes too long: 503 with Retry-After.
        case busy
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
