public import Identifiers
public import Identity

/// A request for admission, from a client that knows the link, or has found the broadcast on the local network.
public struct Knock: Sendable, Equatable {
    /// Time limit for the answer to a knock.
    public static let answerTime: Duration = .seconds(60)

    /// Identifies the question to the host's user. It differs from the viewer's ticket, which stays within the server.
    public package(set) var id: KnockID
    /// The name that the viewer chose: at most 64 scalars, no control characters, no direction overrides. Not verified.
    public let name: String
    /// "share", "Firefox", "Chromium", "Safari", "browser", or the program's own name. Not verified.
    public let kind: String
    /// The address of the connection, without port.
    public let address: String
    /// The viewer's identity. Its signature has been checked before anybody is asked.
    public let identity: ViewerIdentity
    /// The viewer has found the broadcast on the local network, and does not have the link.
    public package(set) var isFromAnnouncement = false
    /// The viewer says that it records the broadcast. Not verified: one that does not say so may record as well.
    public var records = false
    /// The host's user has removed this viewer from the broadcast before, so it must not be accepted without a
    /// question.
    public var wasRemoved = false
    /// Another server of the broadcast has admitted this viewer; nil: none has.
    package var pass: AdmissionPassKind?
    /// Another peer tells of this knock, and says whose it is.
    public var isTold = false
    /// The words of this knock; the viewer shows them, too.
    public let words: ShortAuthenticationString

    /// SHA-256 of the viewer's DTLS certificate, 32 bytes.
    public var fingerprint: [UInt8] { identity.fingerprint }
}

extension Knock {
    /// A knock at another peer, which has checked the signature and tells of it.
    package init(
        told id: KnockID, name: String, kind: String, address: String, identity: ViewerIdentity, records: Bool,
        words: ShortAuthenticationString
    ) {
        self.init(
            id: id, name: name, kind: kind, address: address, identity: identity, records: records, isTold: true,
            words: words)
    }
}

public enum KnockDecision: Sendable, Equatable {
    /// A person has accepted this viewer.
    case accepted
    /// By a rule, which asks nobody. Where all places are taken, such viewers of the address that has most make room.
    case acceptedByRule
    /// Accepted without a question, because the identity is a known viewer.
    case remembered
    /// The value is a message to the viewer, or nil.
    case refused(String?)
    /// No viewer is taken at present; the value is the reason, for the viewer.
    case busy(String)
    /// There is no person to answer.
    case unanswered

    package var isAdmission: Bool {
        switch self {
        case .accepted, .acceptedByRule, .remembered: true
        case .refused, .busy, .unanswered: false
        }
    }
}

public enum KnockWithdrawal: Sendable, Equatable {
    /// The knock was not answered in time.
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
