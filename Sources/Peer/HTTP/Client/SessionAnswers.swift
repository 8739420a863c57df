/// The server's answer to an offer. Whoever returns one has checked that it comes from the server that the link names.
public struct OfferAnswer: Sendable {
    public let sdp: String
    /// The path of the session's resource; contains 128 secret bits.
    public let resource: String
    public let etag: String

    public init(sdp: String, resource: String, etag: String) {
        self.sdp = sdp
        self.resource = resource
        self.etag = etag
    }
}

/// The server's answer to an ICE restart.
public struct RestartAnswer: Sendable {
    /// `application/trickle-ice-sdpfrag`.
    public let fragment: String

    public init(fragment: String) { self.fragment = fragment }
}
