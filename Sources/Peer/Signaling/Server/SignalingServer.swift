public import Admission
import FoundationEssentials
import Glibc
import HummingbirdCore
import HummingbirdTLS
public import ICEServers
public import Logging
import NIOCore
import NIOPosix
import NIOSSL

/// The host's HTTPS server: serves the viewer's page, knocks, WHEP and events on one event-loop thread.
///
/// Call `start` once, `stop` once or more.
public actor SignalingServer {
    public struct Configuration: Sendable {
        /// The listening address: a name, or an address without brackets.
        public var host: String
        /// 0 selects a free port.
        public var port: Int
        public var id: BroadcastID
        /// The link's secret, 16 bytes.
        public var secret: [UInt8]
        /// The token with which players join without a knock; nil unless the user asked for it. See ``FixedToken``.
        public var fixedToken: String?
        public var iceServers: [ICEServer] = []
        /// Knocks that wait for an answer at a time.
        public var pendingKnocks = 8
        /// Those from one address (IPv6: /64).
        public var pendingKnocksPerAddress = 2
        public var sessionCapacity = 64
        /// Until a knock counts as unanswered; how long a poll is held; until a knock that nobody polls is withdrawn.
        public var knockTimeout: Duration = .seconds(60)
        public var pollTimeout: Duration = .seconds(20)
        public var abandonTimeout: Duration = .seconds(5)
        /// Until a knock whose challenge is not signed is removed.
        public var signatureTimeout: Duration = .seconds(10)
        /// How long a refused viewer is refused again without a question.
        public var refusalTimeout: Duration = .seconds(60)
        /// Time limit for the delegate to answer an offer.
        public var answerTimeout: Duration = .seconds(6)
        /// Time limit for a request's body to arrive.
        public var readTimeout: Duration = .seconds(10)
        /// Time limit for a request's head to arrive, and between requests.
        public var idleTimeout: Duration = .seconds(15)
        /// Time limit for the first request's head to arrive, including the TLS handshake.
        public var handshakeTimeout: Duration = .seconds(10)
        /// Time limits for the peer to read what is written: until it reads another 16 KiB, and until it has read all.
        public var stallTimeout: Duration = .seconds(10)
        public var writeTimeout: Duration = .seconds(30)
        /// How long the response to a wrong proof or token is delayed.
        public var failureDelay: Duration = .milliseconds(500)
        public var heartbeat: Duration = .seconds(15)
        var limits = RequestLimiter.Limits()
        var bodyLimit = 65_536
        var tokenLimits = TokenTable.Limits()
        var eventStreamCapacity = 256
        var knockLimits: KnockTable.Limits {
            KnockTable.Limits(
                answer: knockTimeout, abandoned: abandonTimeout, signature: signatureTimeout, refusal: refusalTimeout,
                questions: pendingKnocks, questionsOfAddress: pendingKnocksPerAddress)
        }

        public init(
            host: String, port: Int = 0, id: BroadcastID = .random(), secret: [UInt8] = Link.randomSecret(),
            fixedToken: String? = nil
        ) {
            self.host = host
            self.port = port
            self.id = id
            self.secret = secret
            self.fixedToken = fixedToken
        }

        /// Limits the number of connections, for a process that may have few file descriptors. One address may have a
        /// fifth of them.
        public mutating func limit(connections: Int) {
            limits.connections = min(limits.connections, max(1, connections))
            limits.connectionsPerAddress = min(limits.connectionsPerAddress, max(6, connections / 5))
            limits.reservedConnections = min(limits.reservedConnections, connections / 8)
        }
    }

    private enum State {
        case idle
        case running(Server<GuardedChannel>, Task<Void, Never>, MultiThreadedEventLoopGroup)
        case stopped
    }

    private let service: SignalingService
    private let configuration: Configuration
    private var state = State.idle

    public init(identity: Identity, configuration: Configuration, delegate: any SignalingServerDelegate, logger: Logger)
    {
        self.configuration = configuration
        service = SignalingService(identity: identity, configuration: configuration, delegate: delegate, logger: logger)
    }

    /// Binds the port and starts serving.
    /// - Returns: the port.
    public func start() async throws(SignalingServerError) -> Int {
        guard case .idle = state else {
            throw SignalingServerError(.alreadyStarted, "the server has been started before")
        }
        if let token = configuration.fixedToken, let flaw = FixedToken.flaw(of: token) {
            throw SignalingServerError(.token, "the token cannot be used: it \(flaw)")
        }
        state = .stopped
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server: Server<GuardedChannel>
        let bound = Promise<Result<Int, any Error>>()
        do {
            server = try makeServer(group) { bound.fulfil(.success($0)) }
        } catch {
            try? await group.shutdownGracefully()
            throw SignalingServerError(.tls, "the certificate cannot be used for HTTPS: \(error)")
        }
        let running = Task {
            do { try await server.run() } catch { bound.fulfil(.failure(error)) }
        }
        switch await bound.value {
        case .success(let port):
            state = .running(server, running, group)
            return port
        case .failure(let error):
            await running.value
            try? await group.shutdownGracefully()
            throw SignalingServerError(error, host: configuration.host, port: configuration.port)
        }
    }

    private func makeServer(
        _ group: MultiThreadedEventLoopGroup, _ onBound: @escaping @Sendable (Int) -> Void
    ) throws -> Server<GuardedChannel> {
        let identity = service.identity
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: identity.certificateDER, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)))
        tls.minimumTLSVersion = .tlsv12
        // TLS 1.2 is allowed with forward secrecy and AEAD only, and with ECDSA, as the certificate's key is P-256 (RFC
        // 9325 section 4.2).
        tls.cipherSuiteValues = [
            .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        ]
        tls.applicationProtocols = ["http/1.1"]
        let service = service
        let http = HTTP1Channel(
            responder: { request, writer, channel in try await service.respond(to: request, writer, on: channel) },
            configuration: .init(
                idleTimeout: TimeAmount(configuration.idleTimeout),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 8_192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 100)))
        var quiet = service.logger
        quiet.logLevel = max(quiet.logLevel, .warning)
        return Server(
            childChannelSetup: GuardedChannel(
                inner: try TLSChannel(http, tlsConfiguration: tls), connections: service.connections,
                timeouts: .init(
                    handshake: TimeAmount(configuration.handshakeTimeout),
                    stall: TimeAmount(configuration.stallTimeout), write: TimeAmount(configuration.writeTimeout))),
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port), backlog: 128),
            onServerRunning: { channel in
                let door = channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(
                        ConnectionAdmissionHandler(service.connections), position: .first)
                }
                try? await door.get()
                onBound(channel.localAddress?.port ?? 0)
            },
            eventLoopGroup: group, logger: quiet)
    }

    /// Sends an event on every viewer's event stream. Never waits; a stream with 64 unread events is closed.
    public nonisolated func broadcastEvent(_ event: HostEvent) {
        let dropped = service.eventStreams.send(event)
        if dropped > 0 { service.count { $0.eventsDropped += dropped } }
    }

    /// Sends candidates that the host gathered after its answer, all of them so far, on the event streams of the
    /// session's viewer. Streams that it opens later begin with them.
    public nonisolated func send(candidates fragment: String, of session: SessionID) {
        guard let owner = service.admissions.keep(late: fragment, of: session) else { return }
        let dropped = service.eventStreams.send(.candidates(fragment: fragment), to: owner)
        if dropped > 0 { service.count { $0.eventsDropped += dropped } }
    }

    /// Sends the `ended` event with `reason` to every viewer, and waits 1 s at most until it is written. Withdraws all
    /// knocks; nobody can join any more.
    public nonisolated func endAll(reason: String) async {
        await service.knocks.end()
        await service.eventStreams.end(reason: reason, limit: .seconds(1))
    }

    /// Removes the resource of a session that the host has ended.
    public nonisolated func forget(_ session: SessionID) { service.admissions.remove(session) }

    public nonisolated var statistics: SignalingStatistics { service.statistics }

    /// Finishes the requests in progress, for 1 s at most, then closes all connections. Takes 2 s at most.
    public func stop() async {
        guard case .running(let server, let running, let group) = state else { return }
        state = .stopped
        await endAll(reason: "the host has stopped")
        let connections = service.connections
        let forced = Task {
            guard (try? await Task.sleep(for: .milliseconds(800))) != nil else { return }
            connections.hangUpAll()
        }
        try? await server.shutdownGracefully()
        forced.cancel()
        await running.value
        try? await group.shutdownGracefully()
    }
}

/// Why the server does not run. `description` is a sentence for people.
public struct SignalingServerError: Error, CustomStringConvertible {
    public enum Code: Sendable {
        case portInUse, notPermitted, addressNotHere, unknownHost, tls, token, alreadyStarted, other
    }
    public let code: Code
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ error: any Error, host: String, port: Int) {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            self.init(
                .portInUse, "port \(port) is in use on \(host): choose another with --listen, or 0 for any free one")
        case EACCES, EPERM:
            self.init(
                .notPermitted, "not permitted to listen on \(place): ports below 1024 need root; choose a higher one")
        case EADDRNOTAVAIL:
            self.init(.addressNotHere, "\(host) is not an address of this machine: see them with: ip address")
        default:
            if error is SocketAddressError.UnknownHost {
                self.init(.unknownHost, "\(host) is not known as an address or name to listen on")
            } else {
                self.init(.other, "cannot listen on \(place): \(error)")
            }
        }
    }
}
