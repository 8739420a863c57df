public import Identifiers
import MediaCore

/// A host that wants to broadcast to a service, as the service's user or policy is asked.
public struct PairingRequest: Hashable, Sendable {
    /// Time limit for the answer.
    public static let answerTime: Duration = .seconds(60)

    /// Identifies the question. It differs from the host's ticket, which stays within the server.
    public package(set) var id: KnockID
    public let application: ApplicationInfo
    /// SHA-256 of the host's certificate, 32 bytes. The host has proven that it has the certificate's key.
    public let fingerprint: [UInt8]
    /// The address of the connection, without port.
    public let address: String
    /// A value for each of the service's fields, cleaned.
    public let setup: [String: String]
    /// The host has proven that it has the service's link with its secret.
    public let hasLinkSecret: Bool

    package init(
        id: KnockID, application: ApplicationInfo, fingerprint: [UInt8], address: String, setup: [String: String],
        hasLinkSecret: Bool = false
    ) {
        self.id = id
        self.application = application
        self.fingerprint = fingerprint
        self.address = address
        self.setup = setup
        self.hasLinkSecret = hasLinkSecret
    }
}

public enum PairingDecision: Sendable, Equatable {
    /// A person has accepted this host, now or before.
    case accepted
    /// By a rule, without an acceptance by a person. While other addresses want a place, such hosts of one address
    /// have a quarter of all.
    case acceptedByRule
    /// The value is a message to the host's user, or nil.
    case refused(String?)
    /// There is no person to answer.
    case unanswered
    /// The service takes no further broadcast.
    case busy
}

/// The grant of a service to a host that may broadcast to it.
package struct PairingGrant: Hashable, Sendable {
    /// Limits of a token's length, in visible ASCII characters.
    static let tokenLength = 16...512
    static let urlLimit = 2_048
    /// The longest lease that a host waits for.
    static let leaseLimit: Duration = .seconds(60)

    /// The bearer token of the session. It holds for the host's certificate alone.
    package let token: String
    /// The time within which the session has to be published.
    package let lease: Duration
    /// The URL at which people can see the broadcast.
    package let broadcastURL: String?

    package init(token: String, lease: Duration, broadcastURL: String? = nil) {
        self.token = token
        self.lease = lease
        self.broadcastURL = broadcastURL
    }

    /// Returns whether a service may name this as the place of its broadcast: an address for browsers, in visible ASCII
    /// characters, at most 2048.
    package static func isBroadcastURL(_ text: String) -> Bool {
        text.utf8.count <= urlLimit && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && ["https://", "http://"].contains { text.lowercased().hasPrefix($0) && text.utf8.count > $0.utf8.count }
    }
}

/// The service's response to a host that wants to pair.
package struct PairingOffer: Hashable, Sendable {
    /// 32 bytes.
    package let nonce: [UInt8]
    /// Of the transcript, in the role of the service: 64 bytes, r | s.
    package let signature: [UInt8]
    package let service: ServiceDescription

    package init(nonce: [UInt8], signature: [UInt8], service: ServiceDescription) {
        self.nonce = nonce
        self.signature = signature
        self.service = service
    }
}

/// The reason why a host is not, or no longer, paired. `description` is a sentence for people.
public enum PairingFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The host's user did not want.
    case declined
    /// A value for the service's fields was refused, and was given again.
    case setup(SetupError)
    /// The value is the service's reason, cleaned.
    case refused(String)
    /// Nobody at the service has answered.
    case unanswered
    /// There is no service with this identifier at this address.
    case unknownService
    /// Another certificate than the pinned one has answered.
    case certificateChanged
    /// The service takes no further broadcast; the value is its reason, cleaned.
    case busy(String)
    /// The service does not know this pairing any more.
    case gone
    case timedOut
    /// The service has not signed this pairing.
    case wrongSignature
    /// The link has no secret, or another one than the service.
    case wrongSecret
    /// The value says why the service cannot be reached.
    case unreachable(String)
    /// The service has answered something that is not part of the protocol.
    case malformed

    public var description: String {
        switch self {
        case .declined: "you declined to broadcast to this service"
        case .setup(let error): error.description
        case .refused(let reason): "the service refused: \(reason)"
        case .unanswered: "nobody answered at the service; try again later"
        case .unknownService: "there is no such service at this address: check the link, or ask for a new one"
        case .certificateChanged:
            "another computer than the one in the link has answered, or the service has a new certificate: get the link "
                + "again from whom you trust"
        case .busy(let reason): "the service takes no further broadcast now: \(reason)"
        case .gone: "the service has ended this pairing; pair again"
        case .timedOut: "the pairing took too long; pair again"
        case .wrongSignature: "the service could not prove who it is; get its link again from whom you trust"
        case .wrongSecret: "the secret in the service's link is not right: ask for the link again"
        case .unreachable(let why): "the service cannot be reached: \(why)"
        case .malformed: "the service answered something that this share does not understand; update both"
        }
    }
}
