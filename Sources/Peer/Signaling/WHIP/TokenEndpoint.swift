public import HTTP
public import Identifiers

/// The WHIP endpoint of a service peer whose fixed token is known: there is no pairing and no question, and the service
/// tells nothing. Its certificate is the link's.
public struct TokenEndpoint: PublishingEndpoint {
    private let link: ServiceLink
    private let token: String
    private let client: ServiceClient

    public init(_ link: ServiceLink, token: String) throws(SignalingError) {
        // The relay would see the token, which is valid for every certificate.
        guard link.relay == nil else {
            throw SignalingError(
                .offerRefused, "the relay in this link would see the token: pair with the service instead")
        }
        self.link = link
        self.token = token
        client = try ServiceClient(publishingTo: link)
    }

    public var name: String { link.id.text }
    public var host: String { link.host }
    public var fingerprint: [UInt8]? { link.fingerprint }
    public var takesLateCandidates: Bool { true }

    public func publish(_ sdp: String) async throws(SignalingError) -> OfferAnswer {
        try await client.publish(sdp, token: token)
    }

    public func trickle(_ fragment: String) async throws(SignalingError) { try await client.trickle(fragment) }

    public func restart(_ fragment: String, timeout: Duration) async throws(SignalingError) -> RestartAnswer {
        try await client.restart(fragment, timeout: timeout)
    }

    public func events() async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error>? { nil }

    public func close() async {
        await client.leave()
        await client.close()
    }
}
