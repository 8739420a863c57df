import NIOCore
import NIOPosix

/// HTTP/1.1 over TLS to one server, whose certificate is pinned: requests, event streams, and the resource of one
/// session (WHEP, WHIP).
///
/// An idle connection is reused for the next request or event stream. An open stream has its connection for itself.
/// Call `close` at the end.
public actor PinnedHTTPClient {
    public struct Configuration: Sendable {
        public var connectTimeout: Duration = .seconds(5)
        /// Time limit for the response to a request that is not a poll.
        public var answerTimeout: Duration = .seconds(10)
        /// Time limit for the response to a poll, which a host holds for 20 s.
        public var pollTimeout: Duration = .seconds(30)
        /// Capacity of the queue of unread events; one more ends the stream with `.connectionLost`.
        public var eventCapacity = 64
        /// The client runs on threads that all such clients share.
        package var sharesThreads = false
        /// The numeric address to connect from; nil: the system's choice.
        package var localAddress: String?
        /// Which numeric addresses the server may have, when a peer has named it: the one that is checked is connected
        /// to. Nil: any.
        package var permits: (@Sendable (_ address: String) -> Bool)?
        public init() {}
    }

    package nonisolated let server: PinnedServer
    package nonisolated let configuration: Configuration
    package nonisolated let connector: PinnedConnector
    private let group: MultiThreadedEventLoopGroup
    var idle: [any Channel] = []
    var streams: [any Channel] = []
    /// The bearer token of all requests.
    private(set) var token: String?
    /// The session that `keep` was given, until `leave`.
    package var session: OfferAnswer?
    private(set) var isClosed = false
    private var connecting = 0

    package init(to server: PinnedServer, configuration: Configuration) throws(SignalingError) {
        self.server = server
        self.configuration = configuration
        group = configuration.sharesThreads ? .singleton : MultiThreadedEventLoopGroup(numberOfThreads: 1)
        connector = try PinnedConnector(
            to: server, group: group, timeout: configuration.connectTimeout, from: configuration.localAddress,
            permits: configuration.permits)
    }

    package func authorize(with token: String) { self.token = token }

    /// Closes all connections after an outage, so that later requests use new ones. Event streams end with
    /// `.connectionLost`.
    package func closeConnections() {
        for channel in idle + streams { channel.close(mode: .all, promise: nil) }
        idle = []
        streams = []
    }

    /// Closes every connection. May be called more than once.
    package func close() async {
        guard !isClosed else { return }
        isClosed = true
        for channel in idle + streams { channel.close(promise: nil) }
        idle = []
        streams = []
        if connecting == 0 { await shutDown() }
    }

    private func shutDown() async {
        if !configuration.sharesThreads { try? await group.shutdownGracefully() }
    }

    /// Opens a connection. NIO must not connect with a group that is shut down; so if `close` was called meanwhile, the
    /// last pending connection attempt shuts the group down.
    func connect(timeout: Duration?) async throws(SignalingError) -> any Channel {
        guard !isClosed else { throw .lost(server) }
        connecting += 1
        let result: Result<any Channel, SignalingError>
        do throws(SignalingError) {
            result = .success(try await connector.connect(timeout: timeout))
        } catch {
            result = .failure(error)
        }
        connecting -= 1
        guard isClosed else { return try result.get() }
        if connecting == 0 { await shutDown() }
        throw .lost(server)
    }
}
