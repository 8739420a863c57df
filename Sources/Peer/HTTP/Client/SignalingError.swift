public import MediaCore

/// The reason why a viewer cannot join. `description` is a sentence for people and contains no secret.
public struct SignalingError: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        /// No process listens on that port.
        case connectionRefused
        /// There is no route, the host is down, or it did not answer in time.
        case unreachable
        case timedOut
        case unknownHost
        /// The server's certificate is not the one that the link names.
        case certificateMismatch
        /// The server's certificate is not valid for the link's name, by the system's roots.
        case certificateUntrusted
        /// The viewer does not know the link's secret: its proof was wrong.
        case wrongSecret
        /// The answer does not come from the host that the link names.
        case hostNotProven
        case refused
        case unanswered
        /// The host runs, but does not have this broadcast.
        case oldLink
        /// The broadcast or the knock is over.
        case gone
        case tooMany
        /// The queue of knocks is full, in all or for this viewer's address.
        case queueFull
        /// No viewer is taken at present.
        case busy
        case offerRefused
        /// This side and the other have no video codec in common.
        case unsupportedCodec
        /// Another pairing has the identifier of a tunnel now.
        case identifierInUse
        case notAShareHost
        /// The connection broke.
        case connectionLost
    }
    public let code: Code
    public let description: String
    /// The advice for the user; empty if `description` contains it.
    public let remedy: String
    /// After so many seconds the request may be repeated (Retry-After, RFC 9110 section 10.2.3); nil: the server did
    /// not say so.
    public let retryAfter: Int?
    /// Of the broadcast, with `unsupportedCodec`; nil if that is not known.
    public var videoCodec: VideoCodec?

    public init(_ code: Code, _ description: String, remedy: String = "", retryAfter: Int? = nil) {
        self.code = code
        self.description = description
        self.remedy = remedy
        self.retryAfter = retryAfter
    }
}

extension SignalingError {
    package static let oldLink = SignalingError(
        .oldLink, "this host shares, but not under this link",
        remedy: "each run of share host has a new link: ask for the present one")

    package static func connectionRefused(
        port: Int, at address: String, role: PinnedServer.Role = .host
    ) -> SignalingError {
        SignalingError(
            .connectionRefused, "nothing listens at port \(port) of \(address)",
            remedy:
                "the \(role) has stopped, or the link is old; behind a NAT, its router has to forward that TCP port "
                + "to it")
    }

    static func certificateMismatch(_ server: PinnedServer) -> SignalingError {
        SignalingError(
            .certificateMismatch,
            "\(server.authority) has another certificate than the link says: somebody may be in between, or the "
                + "\(server.role) has a new identity; ask for a new link")
    }

    /// - Parameter flaw: "has expired".
    static func certificateUntrusted(_ server: PinnedServer, _ flaw: String) -> SignalingError {
        SignalingError(
            .certificateUntrusted, "the certificate of \(server.authority) \(flaw)",
            remedy: "somebody may be in between, or it has to be renewed: ask who runs the \(server.role)")
    }

    package static func notAShareHost(_ server: PinnedServer, _ what: String) -> SignalingError {
        SignalingError(
            .notAShareHost, "\(server.authority) is not a \(server.role) of share (\(what)); check the link")
    }

    static func unknown(_ server: PinnedServer) -> SignalingError {
        SignalingError(.unknownHost, "no computer is known as \(server.host): check the link and your network")
    }

    /// - Parameter addresses: those of its name.
    static func notPermitted(_ server: PinnedServer, at addresses: [String]) -> SignalingError {
        SignalingError(
            .unreachable,
            "\(server.authority) is at \(addresses.joined(separator: ", ")), which no host elsewhere may name")
    }

    package static func unsupported(_ codec: VideoCodec) -> SignalingError {
        var error = SignalingError(
            .unsupportedCodec, "the broadcast's video is \(codec.rawValue), which this viewer cannot show")
        error.videoCodec = codec
        return error
    }

    static func lost(_ server: PinnedServer) -> SignalingError {
        SignalingError(.connectionLost, "the connection to \(server.authority) broke; try again")
    }
}
