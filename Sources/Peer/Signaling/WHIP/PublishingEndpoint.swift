public import Admission
public import HTTP
public import Identifiers
public import MediaCore

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
    /// Sends the decision about a viewer, if the endpoint has asked.
    func decide(_ decision: KnockDecision, about knock: KnockID) async
    /// Has the broadcast listed, if its host wants that. Called when it can be watched.
    func list() async throws(SignalingError)
    /// Says that the broadcast is held back, or goes on (nil). Endpoints that cannot be told are not.
    func tell(hold: BroadcastHold?) async throws(SignalingError)
    /// Says which application the broadcast shows now. Endpoints that cannot be told are not.
    func tell(application: ApplicationInfo) async throws(SignalingError)
    /// Has the endpoint's viewers go back to the host, if it has sent them there.
    /// - Throws: `.gone` if the endpoint cannot.
    func returnViewers() async throws(SignalingError)
    /// Passes keys on to the endpoint's viewers, whom the host has sent there.
    /// - Throws: `.gone` if the endpoint cannot.
    func pass(_ keys: [MemberKeys]) async throws(SignalingError)
    /// Passes on to those viewers what is encrypted for them.
    /// - Throws: `.gone` if the endpoint cannot.
    func pass(_ messages: SealedMessages) async throws(SignalingError)
    /// Ends the sessions of a viewer: SHA-256 of its certificate.
    /// - Throws: `.gone` if the endpoint cannot.
    func remove(viewer: [UInt8]) async throws(SignalingError)
    /// Ends the session, and closes all connections. May be called more than once.
    func close() async
}

extension PublishingEndpoint {
    public var isOverRelay: Bool { false }
    public var grantedServers: GrantedServers { .none }

    public func decide(_ decision: KnockDecision, about knock: KnockID) async {}
    public func list() async throws(SignalingError) {}
    public func tell(hold: BroadcastHold?) async throws(SignalingError) {}
    public func tell(application: ApplicationInfo) async throws(SignalingError) {}
    public func pass(_ keys: [MemberKeys]) async throws(SignalingError) { throw hasNoViewers }
    public func pass(_ messages: SealedMessages) async throws(SignalingError) { throw hasNoViewers }
    public func remove(viewer: [UInt8]) async throws(SignalingError) { throw hasNoViewers }
    public func returnViewers() async throws(SignalingError) { throw hasNoViewers }

    private var hasNoViewers: SignalingError {
        SignalingError(.gone, "\(name) has no viewers that this host has sent there")
    }
}
