public import Admission
import NIOCore
import NIOHTTP1
import NIOPosix

/// The viewer's side of signalling: knocks, waits for the answer, sends the offer and candidates (WHEP), and receives
/// events.
///
/// An idle connection is reused for the next request. Each event stream has a connection of its own. Call `close` at
/// the end.
public actor SignalingClient {
    public struct Configuration: Sendable {
        public var connectTimeout: Duration = .seconds(5)
        /// Time limit for the response to a request that is not a poll.
        public var answerTimeout: Duration = .seconds(10)
        /// Time limit for the response to a poll, which a host holds for 20 s.
        public var pollTimeout: Duration = .seconds(30)
        /// Capacity of the queue of unread events; one more ends the stream with `.connectionLost`.
        public var eventCapacity = 64
        public init() {}
    }

    let link: Link
    let proof: Proof
    /// Sent as `Share-Visit`. It lets the host distinguish a new session of this program, which replaces the previous
    /// one, from a session of another program with the same certificate.
    let clientInstance = ClientInstanceID.random()
    let configuration: Configuration
    private let group: MultiThreadedEventLoopGroup
    let connector: PinnedConnector
    var idle: [any Channel] = []
    var streams: [any Channel] = []
    var fingerprint: [UInt8]?
    var token: String?
    var session: OfferAnswer?
    private(set) var isClosed = false
    private var connecting = 0

    public init(link: Link, configuration: Configuration = Configuration()) throws(SignalingError) {
        self.link = link
        self.configuration = configuration
        proof = Proof(link: link)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        connector = try PinnedConnector(link: link, group: group, timeout: configuration.connectTimeout)
    }

    /// Requests the broadcast's page without knocking, and returns its HTTP status. Checks the certificate.
    public func pageStatus() async throws(SignalingError) -> Int {
        Int(try await ask(.GET, path: "/\(link.id.text)").status)
    }

    /// Closes all connections after an outage, so that later requests use new ones. Event streams end with
    /// `.connectionLost`.
    public func closeConnections() {
        for channel in idle + streams { channel.close(mode: .all, promise: nil) }
        idle = []
        streams = []
    }

    /// Closes every connection. May be called more than once.
    public func close() async {
        guard !isClosed else { return }
        isClosed = true
        for channel in idle + streams { channel.close(promise: nil) }
        idle = []
        streams = []
        if connecting == 0 { try? await group.shutdownGracefully() }
    }

    /// Opens a connection. NIO must not connect with a group that is shut down; so if `close` was called meanwhile, the
    /// last pending connection attempt shuts the group down.
    func connect(timeout: Duration?) async throws(SignalingError) -> any Channel {
        guard !isClosed else { throw .lost(link) }
        connecting += 1
        let result: Result<any Channel, SignalingError>
        do throws(SignalingError) {
            result = .success(try await connector.connect(timeout: timeout))
        } catch {
            result = .failure(error)
        }
        connecting -= 1
        guard isClosed else { return try result.get() }
        if connecting == 0 { try? await group.shutdownGracefully() }
        throw .lost(link)
    }
}
