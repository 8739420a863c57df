public import Admission
public import HTTP
public import Identifiers
import Identity
import NIOCore
import NIOHTTP1

/// The viewer's side of signalling: knocks, waits for the answer, sends the offer and candidates (WHEP), and receives
/// events.
///
/// An idle connection is reused for the next request. Each event stream has a connection of its own. Call `close` at
/// the end.
public actor SignalingClient: EndpointClient {
    public typealias Configuration = PinnedHTTPClient.Configuration

    let link: Link
    let proof: Proof
    /// Sent as `Share-Visit`. It lets the host distinguish a new session of this program, which replaces the previous
    /// one, from a session of another program with the same certificate.
    let clientInstance = ClientInstanceID.random()
    public nonisolated let http: PinnedHTTPClient
    var fingerprint: [UInt8]?
    /// The resource at which layers of the present session are selected; nil: the host takes no selection.
    var layerResource: String?
    /// For other servers of the broadcast, after an accepted knock; nil if there are none.
    public internal(set) var pass: String?
    /// The last knock; nil before the first one.
    package internal(set) var origin: KnockOrigin?
    /// How the host encrypts what it publishes to a relay, by the last knock; nil: the server's knocks are of version
    /// 1.
    package internal(set) var encryption: HostEncryption?
    /// What opens the host's frames that come over a relay, after an accepted knock; nil: nothing is needed.
    package internal(set) var frameKeys: [UInt8]?
    /// The server at which the host wants the viewer to watch, after an accepted knock; nil: this one.
    public internal(set) var redirect: SignedRedirect?

    public init(link: Link, configuration: Configuration = Configuration()) throws(SignalingError) {
        self.link = link
        proof = Proof(link: link)
        http = try PinnedHTTPClient(to: PinnedServer(link), configuration: configuration)
    }

    public nonisolated func path(_ item: String) -> String { "/\(link.id.text)\(item)" }

    /// Requests the broadcast's page without knocking, and returns its HTTP status. Checks the certificate.
    public func pageStatus() async throws(SignalingError) -> Int { Int(try await http.ask(.GET, path("")).status) }

    /// Opens the host's stream of events. The stream ends after `.ended`, and throws `.connectionLost` when the
    /// connection breaks.
    public func events(
        timeout: Duration? = nil
    ) async throws(SignalingError) -> AsyncThrowingStream<HostEvent, any Error> {
        try await http.events(HostEvent.self, path("/events"), timeout: timeout)
    }

    /// Closes every connection. May be called more than once.
    public func close() async { await http.close() }
}
