public import Admission
public import HTTP
public import Identifiers
import Identity
public import MediaCore
public import Signaling

extension PairedService: PublishingEndpoint {
    public var host: String { link.host }
    public var grantedServers: GrantedServers { isOfTunnel ? .none : GrantedServers(iceServers, by: link.host) }
    public var fingerprint: [UInt8]? { link.fingerprint }
    public var takesLateCandidates: Bool { true }
    public var isOverRelay: Bool { link.relay != nil }

    public func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
        try await client.publish(
            sdp, decidesOnViewers: decidesOnViewers, isEncrypted: isEncrypted, resuming: resumes)
    }

    public func decide(_ decision: KnockDecision, about knock: KnockID) async {
        await client.decide(decision, about: knock)
    }

    public func list() async throws(SignalingError) {
        guard let title else { return }
        try await client.list(Listing(title: title))
    }

    public func pass(_ keys: [MemberKeys]) async throws(SignalingError) { try await client.pass(keys) }

    public func pass(_ messages: SealedMessages) async throws(SignalingError) { try await client.pass(messages) }

    public func remove(viewer: [UInt8]) async throws(SignalingError) { try await client.remove(viewer: viewer) }

    public func tell(hold: BroadcastHold?) async throws(SignalingError) { try await client.tell(hold: hold) }

    public func tell(application: ApplicationInfo) async throws(SignalingError) {
        try await client.tell(application: application)
    }

    public func returnViewers() async throws(SignalingError) { try await client.returnViewers() }

    public func trickle(_ fragment: String) async throws(SignalingError) { try await client.trickle(fragment) }

    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        try await client.restart(fragment, timeout: timeout)
    }

    public func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? {
        try await client.events()
    }
}
