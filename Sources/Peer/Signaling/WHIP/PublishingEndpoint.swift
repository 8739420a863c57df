public import HTTP

/// A service peer, or another WHIP endpoint (RFC 9725), to which a broadcast is published. One session at a time.
public protocol PublishingEndpoint: Sendable {
    /// For people; not verified.
    var name: String { get }
    /// A name or an address, without port.
    var host: String { get }
    /// SHA-256 of the certificate that the answer has to name; nil: the one that it names, as the connection over which
    /// it came is trusted.
    var fingerprint: [UInt8]? { get }
    /// Whether candidates may be sent after the offer. Without it the offer waits for them.
    var takesLateCandidates: Bool { get }

    /// Whether a relay passes on what is said to the endpoint. What the relay could make up is not believed, and its
    /// own outages do not end a session.
    var isOverRelay: Bool { get }

    /// STUN and TURN servers that came with the answer to the last offer (RFC 9725 section 4.6); untrusted.
    var grantedServers: GrantedServers { get }

    /// Sends the offer (RFC 9725 section 4.2).
    func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer
    /// Sends candidates that were found after the offer (RFC 8840).
    func trickle(_ fragment: String) async throws(SignalingError)
    /// Restarts ICE (RFC 9725 section 4.3.2).
    /// - Throws: `.gone` if the endpoint does not have the session any more.
    func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer
    /// The events of the endpoint about the broadcast; nil if it sends none.
    func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>?
    /// Has the broadcast listed, if its host wants that. Called when it can be watched.
    func list() async throws(SignalingError)
    /// Tells the endpoint something of the broadcast.
    /// - Throws: `.gone` for a message about viewers, if the endpoint has none that this host has sent there. Endpoints
    ///   that cannot be told anything else are not.
    func send(_ message: PublisherMessage) async throws(SignalingError)
    /// Ends the session, and closes all connections. May be called more than once.
    func close() async
}

extension PublishingEndpoint {
    public var isOverRelay: Bool { false }
    public var grantedServers: GrantedServers { .none }

    public func list() async throws(SignalingError) {}
    public func send(_ message: PublisherMessage) async throws(SignalingError) {
        switch message {
        case .application, .hold, .decision: return
        case .returnViewers, .keys, .sealed, .removal:
            throw SignalingError(.gone, "\(name) has no viewers that this host has sent there")
        }
    }
}
