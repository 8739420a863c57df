import FoundationEssentials
public import HTTP
public import Identifiers
public import Identity
import LinuxRuntime
import NIOCore
import NIOPosix
import TLSTransport

/// Gets broadcasts from elsewhere when they are asked for.
public protocol BroadcastFetcher: Sendable {
    /// Whether a broadcast can be got.
    func knows(_ id: BroadcastID) -> Bool
    /// The secret of a broadcast that can be got; nil: there is none. It is got for those alone who know it.
    func secret(of id: BroadcastID) -> [UInt8]?
    /// The key of the passes and marks of such a broadcast, 32 bytes; nil: it has none.
    func passKey(of id: BroadcastID) -> [UInt8]?
    /// Has a broadcast added to the server.
    /// - Returns: whether it was.
    func fetch(_ id: BroadcastID) async -> Bool
}

/// The HTTPS server of a host, a service or a relay: serves the viewer's page, knocks, WHEP, pairings, WHIP and events
/// on one event-loop thread.
///
/// Broadcasts and services come and go while it runs: `add` returns a ``BroadcastResource`` or a ``ServiceResource``
/// for each. Call `start` once, `stop` once or more.
public actor SignalingServer {
    public struct Configuration: Sendable {
        /// The listening address: a name, or an address without brackets.
        public var host: String
        /// 0 selects a free port.
        public var port: Int
        /// How many ports after it are tried, one after the other, if it is in use.
        public var furtherPorts = 0
        /// What the server presents to its clients instead of its identity's certificate, which stays that of pairings
        /// and proofs. Links need the flag `webPKI` then.
        public var certificate: ServerCertificate?
        /// Broadcasts at a time.
        public var broadcastCapacity = 4_096
        /// Services at a time.
        public var serviceCapacity = 64
        /// How broadcasts are listed; nil: not at all.
        public var directory: DirectorySettings?
        /// Gets broadcasts that this server does not have; nil: there are no others.
        public var fetcher: (any BroadcastFetcher)?
        public var timeouts = Timeouts()
        /// How long the response to a wrong proof or token is delayed.
        public var failureDelay: Duration = .milliseconds(500)
        public var heartbeat: Duration = .seconds(15)
        var limits = RequestLimiter.Limits()
        var socketLimits = MessageSocket.Limits()
        var bodyLimit = 65_536

        public struct Timeouts: Sendable {
            /// The time for which the poll of a knock or a pairing is held.
            public var poll: Duration = .seconds(20)
            /// For the delegate to answer an offer.
            public var answer: Duration = .seconds(6)
            /// For a request's body to arrive.
            public var body: Duration = .seconds(10)
            /// For a request's head to arrive, and between requests.
            public var idle: Duration = .seconds(15)
            /// For the first request's head to arrive, including the TLS handshake.
            public var handshake: Duration = .seconds(10)
            /// For the peer to read what is written: until it reads another 16 KiB, and until it has read all.
            public var stall: Duration = .seconds(10)
            public var write: Duration = .seconds(30)
        }

        public init(host: String, port: Int = 0) {
            self.host = host
            self.port = port
        }

        /// Makes room for an audience: each viewer holds a connection for events, and needs two more to join. One
        /// address may have an eighth of them, and all can come back within seconds.
        /// - Parameter broadcasts: the publishers, who hold a connection for events, and one more if they have a
        ///   tunnel.
        public mutating func serve(viewers: Int, broadcasts: Int = 0) {
            limits.connections = max(limits.connections, viewers * 3 + broadcasts * 2 + 64)
            limits.connectionsPerAddress = max(limits.connectionsPerAddress, viewers / 8)
            limits.allConnectionRate.burst = max(limits.allConnectionRate.burst, Double(viewers) * 2)
            limits.allConnectionRate.perSecond = max(
                limits.allConnectionRate.perSecond, Double(min(viewers, 4_000)) / 4)
            // An address is forgotten only while it has nothing open.
            limits.addresses = max(limits.addresses, viewers * 4 + broadcasts * 2)
        }

        /// Limits the number of connections, for a process that may have few file descriptors. One address may have a
        /// fifth of them.
        public mutating func limit(connections: Int) {
            limits.connections = min(limits.connections, max(1, connections))
            limits.connectionsPerAddress = min(limits.connectionsPerAddress, max(6, connections / 5))
            limits.reservedConnections = min(limits.reservedConnections, connections / 8)
        }
    }

    enum State {
        case idle
        case starting
        case running(HTTPServer, Task<Void, Never>, MultiThreadedEventLoopGroup)
        /// Also a start in progress that is to fail.
        case stopping
        case stopped
    }

    let service: SignalingServerState
    let configuration: Configuration
    private let presented = PresentedCertificate()
    private let socketFailed: @Sendable () -> Void
    private(set) var state = State.idle
    /// Calls of `stop` that wait for the end.
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameter socketFailed: called once if the listening socket closes by itself: nobody can join any more. Who is
    ///   connected stays.
    public init(identity: Identity, configuration: Configuration, socketFailed: @escaping @Sendable () -> Void = {}) {
        self.configuration = configuration
        self.socketFailed = socketFailed
        service = SignalingServerState(identity: identity, configuration: configuration)
    }

    /// Serves another broadcast from now on. May be called before `start`, and while the server runs.
    /// - Parameter delegate: kept until the broadcast is removed or the server stops.
    /// - Throws: `.token` if the fixed token is unusable, `.broadcastExists`, `.tooManyBroadcasts`, or `.stopped`.
    public nonisolated func add(
        _ broadcast: ServedBroadcastConfiguration, delegate: any SignalingServerDelegate
    ) throws(SignalingServerError) -> BroadcastResource {
        try Self.check(broadcast.fixedToken)
        let resource = BroadcastResource(
            broadcast, delegate: delegate, pollTimeout: configuration.timeouts.poll, counters: service.counters,
            in: service.broadcasts)
        try service.broadcasts.add(resource)
        return resource
    }

    /// Serves another service from now on. May be called before `start`, and while the server runs.
    /// - Parameter delegate: kept until the service is removed or the server stops.
    /// - Throws: `.token` if the fixed token is unusable, `.serviceExists`, `.tooManyServices`, or `.stopped`.
    public nonisolated func add(
        _ service: ServiceConfiguration, delegate: any ServiceDelegate
    ) throws(SignalingServerError) -> ServiceResource {
        try Self.check(service.fixedToken)
        let resource = ServiceResource(
            service, delegate: delegate, tunnels: self.service.tunnels, pollTimeout: configuration.timeouts.poll,
            counters: self.service.counters, in: self.service.services)
        try self.service.services.add(resource)
        return resource
    }

    private static func check(_ fixedToken: String?) throws(SignalingServerError) {
        guard let fixedToken, let flaw = FixedToken.flaw(of: fixedToken) else { return }
        throw SignalingServerError(.token, "the token cannot be used: it \(flaw)")
    }

    /// Binds the port and starts serving.
    /// - Returns: the port.
    public func start() async throws(SignalingServerError) -> Int {
        guard case .idle = state else {
            throw SignalingServerError(.alreadyStarted, "the server has been started before")
        }
        state = .starting
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var port = configuration.port
        while true {
            do throws(SignalingServerError) {
                guard case .starting = state else { throw .stopped }
                return try await start(port, group)
            } catch {
                guard error.code == .portInUse, port < configuration.port + configuration.furtherPorts else {
                    state = .stopping
                    endBroadcasts()
                    try? await group.shutdownGracefully()
                    noteEnd()
                    throw error
                }
                port += 1
            }
        }
    }

    /// - Returns: the port, which is another one for 0.
    private func start(
        _ port: Int, _ group: MultiThreadedEventLoopGroup
    ) async throws(SignalingServerError) -> Int {
        let identity = service.identity
        do {
            presented.context =
                try configuration.certificate?.context
                ?? TLSContext(certificateDER: identity.certificateDER, keyDER: identity.privateKeyDER)
        } catch {
            throw SignalingServerError(.tls, "the certificate cannot be used for HTTPS: \(error)")
        }
        let timeouts = configuration.timeouts
        let pipeline = ConnectionPipeline(
            tls: presented, connections: service.connections,
            timeouts: .init(
                handshake: TimeAmount(timeouts.handshake), stall: TimeAmount(timeouts.stall),
                write: TimeAmount(timeouts.write)),
            idle: TimeAmount(timeouts.idle))
        let server: HTTPServer
        do {
            server = try await HTTPServer(
                host: configuration.host, port: port, backlog: Self.backlog, group: group, pipeline: pipeline)
        } catch {
            throw SignalingServerError(error, host: configuration.host, port: port)
        }
        let service = service
        let running = Task { await server.run { try await service.respond(to: $0, on: $1) } }
        guard case .starting = state else {
            // Stopped meanwhile.
            await server.close()
            service.connections.hangUpAll()
            await running.value
            throw .stopped
        }
        state = .running(server, running, group)
        server.whenClosed { [weak self] in
            Task { await self?.noteClosedSocket() }
        }
        return server.port
    }

    private func noteEnd() {
        state = .stopped
        for call in waiting { call.resume() }
        waiting = []
    }

    private func noteClosedSocket() {
        if case .running = state { socketFailed() }
    }

    /// Presents this certificate to connections that come from now on, after a renewal. Call after `start`.
    public nonisolated func present(_ certificate: ServerCertificate) { presented.context = certificate.context }

    /// Connections that the kernel holds until they are accepted; it holds at most net.core.somaxconn, 4,096 by
    /// default. When its queue is full it answers with SYN cookies, and resets the connections of all who come then.
    private static let backlog: Int32 = 4_096

    /// Ends the broadcasts and services of a server that does not run, and refuses new ones.
    private func endBroadcasts() {
        _ = service.broadcasts.close()
        _ = service.services.close()
        service.broadcasts.removeAll()
        service.services.removeAll()
    }

    /// The listed broadcasts; nil without a directory.
    public nonisolated var directory: DirectoryTable? { service.directory }

    public nonisolated var statistics: SignalingStatistics { service.counters.statistics }

    /// Ends all broadcasts and services, and finishes the requests in progress, for 1 s each at most; then closes all
    /// connections. Nothing can be added any more.
    public func stop() async {
        let server: HTTPServer
        let running: Task<Void, Never>
        let group: MultiThreadedEventLoopGroup
        switch state {
        case .running(let own, let task, let threads): (server, running, group) = (own, task, threads)
        case .stopped: return
        case .idle:
            state = .stopped
            return endBroadcasts()
        case .starting, .stopping:
            state = .stopping
            endBroadcasts()
            return await withCheckedContinuation { waiting.append($0) }
        }
        state = .stopping
        await withTaskGroup(of: Void.self) { group in
            for broadcast in service.broadcasts.close() {
                group.addTask { await broadcast.end(reason: "the host has stopped") }
            }
            for service in service.services.close() {
                group.addTask { await service.end(reason: "the service has stopped") }
            }
        }
        let connections = service.connections
        let forced = Task {
            guard (try? await Task.sleep(for: .milliseconds(800))) != nil else { return }
            connections.hangUpAll()
        }
        await server.close()
        await running.value
        forced.cancel()
        try? await group.shutdownGracefully()
        service.broadcasts.removeAll()
        service.services.removeAll()
        noteEnd()
    }
}
