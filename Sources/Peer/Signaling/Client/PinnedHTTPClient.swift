import NIOCore
import NIOPosix

/// HTTP/1.1 over TLS to one server, whose certificate is pinned: requests, event streams, and the resource of one
/// session (WHEP, WHIP). ``SignalingClient`` and ``ServiceClient`` are built on it.
///
/// An idle connection is reused for the next request or event stream. An open stream has its connection for itself. Call
/// `close` at the end.
actor PinnedHTTPClient {
    let server: PinnedServer
    let configuration: SignalingClient.Configuration
    let connector: PinnedConnector
    private let group: MultiThreadedEventLoopGroup
    var idle: [any Channel] = []
    var streams: [any Channel] = []
    /// The bearer token of all requests.
    private(set) var token: String?
    /// The session that `keep` was given, until `leave`.
    var session: OfferAnswer?
    private(set) var isClosed = false
    private var connecting = 0

    init(to server: PinnedServer, configuration: SignalingClient.Configuration) throws(SignalingError) {
        self.server = server
        self.configuration = configuration
        group = configuration.sharesThreads ? .singleton : MultiThreadedEventLoopGroup(numberOfThreads: 1)
        connector = try PinnedConnector(
            to: server, group: group, timeout: configuration.connectTimeout, from: configuration.localAddress,
            permits: configuration.permits)
    }

    func authorize(with token: String) { self.token = token }

    /// Closes all connections after an outage, so that later requests use new ones. Event streams end with
    /// `.connectionLost`.
    func closeConnections() {
        for channel in idle + streams { channel.close(mode: .all, promise: nil) }
        idle = []
        streams = []
    }

    /// Closes every connection. May be called more than once.
    func close() async {
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
