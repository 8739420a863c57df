/// Why a viewer does not get in; `description` is a sentence for people and holds no secret.
public struct SignalingError: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// Nothing listens there.
        case connectionRefused
        /// No route, host down, or no answer in time.
        case unreachable
        case timedOut
        case unknownHost
        /// Whoever answered has another certificate than the link names.
        case certificateMismatch
        /// It does not know the link's secret, or knows another: a proof was wrong.
        case wrongSecret
        /// The host's answer is not from who the link names.
        case hostNotProven
        case refused
        case unanswered
        /// The broadcast or the knock is over.
        case gone
        case tooMany
        case offerRefused
        case notAShareHost
        /// The connection broke.
        case connectionLost
    }
    public let code: Code
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

extension SignalingError {
    static func mismatch(_ link: Link) -> SignalingError {
        SignalingError(
            .certificateMismatch,
            "\(link.authority) has another certificate than the link says: somebody may be in between, or the host has a new "
                + "identity; ask for a new link")
    }

    static func stranger(_ link: Link, _ what: String) -> SignalingError {
        SignalingError(.notAShareHost, "\(link.authority) is not a host of share (\(what)); check the link")
    }

    static func lost(_ link: Link) -> SignalingError {
        SignalingError(.connectionLost, "the connection to \(link.authority) broke; try again")
    }
}
