public import Admission
public import HTTP
import HTTPTypes
public import Identifiers
import NIOHTTP1

/// The grant of a service to a host that may broadcast to it. The token stays in the ``ServiceClient``.
public struct ServiceGrant: Sendable, Equatable {
    /// The time within which the session has to be published.
    public let lease: Duration
    /// The URL at which people can watch.
    public let broadcastURL: String?
    /// The service's STUN and TURN servers, at most 16.
    public let iceServers: [ICEServer]
}

/// The host's side of signalling with a service: pairs, publishes the session (WHIP, RFC 9725), and receives events.
///
/// The order of a pairing is `pair`, then the host's user is asked, `accept`, `waitForGrant`, `publish`. The service is
/// polled from `pair` on; so it learns within 5 s that this process has gone, and `waitForGrant` may be called beside
/// the question, to learn at once that the service has. Call `close` at the end.
public actor ServiceClient: EndpointClient {
    public typealias Configuration = SignalingClient.Configuration

    let link: ServiceLink
    public nonisolated let http: PinnedHTTPClient
    /// The present pairing, also one that has ended.
    var pairing: Pairing?

    public init(link: ServiceLink, configuration: Configuration = Configuration()) throws(PairingFailure) {
        self.link = link
        do throws(SignalingError) {
            http = try PinnedHTTPClient(to: PinnedServer(link), configuration: configuration)
        } catch {
            throw PairingFailure(error)
        }
    }

    /// A client for `publish(_:token:)` alone.
    public init(publishingTo link: ServiceLink) throws(SignalingError) {
        self.link = link
        http = try PinnedHTTPClient(to: PinnedServer(link), configuration: Configuration())
    }

    public nonisolated func path(_ item: String) -> String { link.path + item }

    /// Requests what the service says of itself, without pairing. Over a relay, which could change it, a pairing is
    /// begun and withdrawn for that, as the service signs what it says there.
    public func describe() async throws(PairingFailure) -> ServiceDescription {
        guard link.relay == nil else { return try await describeSigned() }
        let answer: HTTPAnswer
        do throws(SignalingError) {
            answer = try await http.ask(.GET, path(""))
        } catch {
            throw PairingFailure(error)
        }
        guard answer.status == 200 else { throw PairingFailure(answer) }
        guard let description = answer.document(ServiceDescription.self), description.id == link.id else {
            throw .malformed
        }
        return description
    }

    // MARK: The session

    /// Sends the offer of the session for which the grant is. Checks that the answer's fingerprint is the link's.
    /// - Parameters:
    ///   - decidesOnViewers: a relay asks this host about each viewer.
    ///   - isEncrypted: the media is encrypted for viewers whom this host sends to a relay, and for nobody else.
    ///   - broadcast: goes on here, after another relay of a cluster.
    ///   - timeout: time limit for a new connection, and again for the answer. Nil: the default limit, and an idle
    ///     connection may be used.
    public func publish(
        _ sdp: String, decidesOnViewers: Bool = false, isEncrypted: Bool = false,
        resuming broadcast: BroadcastID? = nil, timeout: Duration? = nil
    ) async throws(SignalingError) -> OfferAnswer {
        guard let pairing, pairing.machine.isPaired else { throw SignalingError(.gone, "there is no pairing") }
        var extra = decidesOnViewers ? [(Header.shareAdmission.rawName, "host")] : []
        if isEncrypted { extra.append((Header.shareEncrypted.rawName, "1")) }
        if let broadcast { extra.append((Header.shareBroadcast.rawName, broadcast.text)) }
        let (session, _) = try await http.offer(sdp, to: path("/whip"), extra: extra, timeout: timeout)
        await http.keep(session)
        handle(.published, of: pairing.number)
        return session
    }

    /// Sends the offer of a session with the service's fixed token, without a pairing.
    public func publish(_ sdp: String, token: String) async throws(SignalingError) -> OfferAnswer {
        await http.authorize(with: token)
        let (session, _) = try await http.offer(sdp, to: path("/whip"), timeout: nil)
        await http.keep(session)
        return session
    }

    /// Opens the service's stream of events. The stream ends after `.finished`, and throws `.connectionLost` when the
    /// connection breaks.
    public func events(
        timeout: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<ServiceEvent, any Error> {
        try await http.events(ServiceEvent.self, path("/events"), timeout: timeout)
    }

    /// Closes every connection. A pairing without a grant is withdrawn first. May be called more than once.
    public func close() async {
        await withdraw()
        await http.close()
    }
}
