import Admission
import HTTP
import Identifiers
import Signaling

/// The WHIP endpoint of a relay for a host with a tunnel there, under the pairing of the tunnel. The session alone ends
/// with it.
struct TunnelPublication: PublishingEndpoint {
    private let relay: PairedService

    init(_ relay: PairedService) { self.relay = relay }

    var link: ServiceLink { relay.link }
    var name: String { relay.name }
    var host: String { relay.host }
    var fingerprint: [UInt8]? { relay.fingerprint }
    var takesLateCandidates: Bool { true }

    func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
        // The host has admitted the viewers that it sends there, and says so when the relay asks.
        try await relay.client.publish(sdp, decidesOnViewers: true)
    }

    func trickle(_ fragment: String) async throws(SignalingError) { try await relay.client.trickle(fragment) }

    func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        try await relay.client.restart(fragment, timeout: timeout)
    }

    func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? {
        try await relay.client.events()
    }

    func decide(_ decision: KnockDecision, about knock: KnockID) async {
        await relay.client.decide(decision, about: knock)
    }

    func tell(isPaused: Bool) async throws(SignalingError) { try await relay.client.tell(isPaused: isPaused) }

    func returnViewers() async throws(SignalingError) { try await relay.client.returnViewers() }

    func close() async { await relay.client.leave() }
}
