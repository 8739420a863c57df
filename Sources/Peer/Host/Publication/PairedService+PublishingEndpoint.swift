public import HTTP
import Identifiers
import Identity
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

    public func list() async throws(SignalingError) {
        guard let title else { return }
        try await client.list(Listing(title: title))
    }

    public func send(_ message: PublisherMessage) async throws(SignalingError) { try await client.send(message) }

    public func trickle(_ fragment: String) async throws(SignalingError) { try await client.trickle(fragment) }

    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        try await client.restart(fragment, timeout: timeout)
    }

    public func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? {
        try await client.events()
    }
}
