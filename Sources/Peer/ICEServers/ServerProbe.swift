import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The result of a check of a STUN or TURN server.
public enum ServerFinding: Sendable, Equatable {
    /// STUN: `mapped` is the address from which the server sees this machine.
    case answers(mapped: String, after: Duration)
    /// TURN: the server allocated the relayed address `from`, which was released at once.
    case relays(from: String, after: Duration)
    case unknownHost
    /// No response arrived in time.
    case silent
    /// Nobody listens, or there is no route. The value is the system's message.
    case unreachable(String)
    /// The TLS handshake failed.
    case untrusted(String)
    /// STUN's error code with the server's reason phrase (RFC 8489 section 14.8, RFC 8656 section 18).
    case refused(code: Int, reason: String)
    /// The response is not STUN.
    case strange

    public var isGood: Bool {
        switch self {
        case .answers, .relays: true
        default: false
        }
    }

    /// The predicate of a sentence whose subject is the server's name.
    public var words: String {
        switch self {
        case .answers(let mapped, let time):
            "answers after \(Int(time / .milliseconds(1))) ms and sees you at \(mapped)"
        case .relays(let place, let time):
            "relays from \(place), asked for within \(Int(time / .milliseconds(1))) ms"
        case .unknownHost: "is not known: no computer has that name"
        case .silent: "does not answer"
        case .unreachable(let why): "cannot be reached: \(why)"
        case .untrusted(let why): "is not trusted: \(why)"
        case .refused(401, _), .refused(431, _), .refused(441, _): "does not accept the user name and credential"
        case .refused(300, _): "sends its users to another server, which share does not follow"
        case .refused(486, _): "has given this user as many relays as it may have (486)"
        case .refused(508, _): "is full (508)"
        case .refused(let code, let reason): "refuses (\(code): \(reason))"
        case .strange: "answers, but not as a STUN or TURN server"
        }
    }

    /// What to do; empty if the check succeeded.
    public var remedy: String {
        switch self {
        case .answers, .relays: ""
        case .unknownHost: "check its name, and this machine's name service"
        case .silent: "check address and port; if they are right, a firewall drops it: try ?transport=tcp, or turns:"
        case .unreachable: "check address and port, and that the server runs"
        case .untrusted: "check the name against its certificate; SSL_CERT_FILE may name a file with your own authority"
        case .refused(401, _), .refused(431, _), .refused(441, _):
            "check USER in --turn and SHARE_TURN_CREDENTIAL; time-limited ones may be over"
        case .refused(300, _): "name that other server"
        case .refused(486, _), .refused(508, _): "wait, or use another server"
        case .refused: "ask who runs the server"
        case .strange: "check address and port"
        }
    }
}

/// Checks a STUN server with a Binding request, or a TURN server with an Allocate request.
public enum ServerProbe {
    /// Takes `limit` at most, and a moment more to release the relayed address.
    public static func ask(_ url: ServerURL, of server: ICEServer, limit: Duration = .seconds(3)) async -> ServerFinding
    {
        guard let address = await ServerLookup.addresses(of: url.host, limit: limit).first,
            let place = try? SocketAddress(ipAddress: address, port: Int(url.port))
        else { return .unknownHost }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let finding: ServerFinding
        do {
            let exchange = STUNExchange(isStream: url.transport != .udp)
            let channel = try await connect(url, place, group, exchange, limit)
            let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
            finding = await converse(url, server, exchange, channel)
            deadline.cancel()
        } catch {
            finding = explain(error)
        }
        Task.detached { try? await group.shutdownGracefully() }
        return finding
    }

    private static func connect(
        _ url: ServerURL, _ place: SocketAddress, _ group: MultiThreadedEventLoopGroup, _ exchange: STUNExchange,
        _ limit: Duration
    ) async throws -> any Channel {
        if url.transport == .udp {
            return try await DatagramBootstrap(group: group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers([Envelopes(place), exchange])
                    }
                }.connect(to: place).get()
        }
        let context = url.transport == .tls ? try TLSTrust.clientContext() : nil
        let name = TLSTrust.serverName(url.host)
        return try await ClientBootstrap(group: group).connectTimeout(TimeAmount(limit))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        let tls = try NIOSSLClientHandler(context: context, serverHostname: name)
                        try channel.pipeline.syncOperations.addHandler(tls)
                    }
                    try channel.pipeline.syncOperations.addHandler(exchange)
                }
            }.connect(to: place).get()
    }

    private static func converse(
        _ url: ServerURL, _ server: ICEServer, _ exchange: STUNExchange, _ channel: any Channel
    ) async -> ServerFinding {
        let begin = ContinuousClock.now
        defer { channel.close(promise: nil) }
        do {
            guard url.kind == .turn else {
                let answer = try await exchange.ask(
                    STUNMessage(request: .binding), channel)
                if let error = answer.error { return .refused(code: error.code, reason: error.reason) }
                guard answer.isSuccess, let mapped = answer.address(.mappedAddress) else { return .strange }
                return .answers(mapped: mapped, after: .now - begin)
            }
            var key: [UInt8]?
            var challenge: STUNMessage?
            // The first request has no credentials, the second has them, and the third has them with a fresh nonce.
            for attempt in 0..<3 {
                let request = request(.allocate, server, challenge, lifetime: nil)
                let answer = try await exchange.ask(request, channel, key: key)
                if let relayed = answer.isSuccess ? answer.address(.relayedAddress) : nil {
                    let time = ContinuousClock.now - begin
                    _ = try? await exchange.ask(
                        self.request(.refresh, server, challenge, lifetime: 0), channel, key: key)
                    return .relays(from: relayed, after: time)
                }
                guard let error = answer.error else { return .strange }
                let isChallenge = error.code == 401 && attempt == 0 || error.code == 438
                guard isChallenge, attempt < 2, let realm = answer[.realm] ?? challenge?[.realm],
                    answer[.nonce] != nil, let name = server.username, let password = server.credential
                else { return .refused(code: error.code, reason: error.reason) }
                challenge = answer
                challenge?[.realm] = realm
                key = STUNMessage.key(username: name, realm: realm, password: password)
            }
            return .refused(code: 438, reason: "stale nonce, again and again")
        } catch {
            return explain(error)
        }
    }

    private static func request(
        _ method: STUNMessage.Method, _ server: ICEServer, _ challenge: STUNMessage?, lifetime: UInt8?
    ) -> STUNMessage {
        var request = STUNMessage(request: method)
        // The protocol number of UDP (RFC 8656 section 18.7).
        if method == .allocate { request[.requestedTransport] = [17, 0, 0, 0] }
        if let lifetime { request[.lifetime] = [0, 0, 0, lifetime] }
        if let challenge {
            request[.username] = Array((server.username ?? "").utf8)
            request[.realm] = challenge[.realm]
            request[.nonce] = challenge[.nonce]
        }
        return request
    }

    private static func explain(_ error: any Error) -> ServerFinding {
        switch error {
        case let error as NIOConnectionError: error.connectionErrors.first.map { explain($0.error) } ?? .silent
        case let error as IOError: .unreachable(String(cString: strerror(error.errnoCode)))
        case is STUNExchange.Strange: .strange
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            .untrusted("its certificate or its TLS does not fit")
        default: .silent
        }
    }
}

/// Sends STUN requests on one channel and matches their responses.
private final class STUNExchange: ChannelInboundHandler, @unchecked Sendable {
    // SAFETY: touched on the channel's event loop only.
    typealias InboundIn = ByteBuffer
    struct Strange: Error {}
    struct Closed: Error {}

    private let isStream: Bool
    private var waiting: (transaction: [UInt8], answer: EventLoopPromise<STUNMessage>)?
    private var received = ByteBuffer()
    private var failure: (any Error)?

    init(isStream: Bool) { self.isStream = isStream }

    /// Sends a request. Over UDP it is retransmitted 0.5 s and 1.5 s after the first transmission (RFC 8489 section
    /// 6.2.1).
    func ask(_ message: STUNMessage, _ channel: any Channel, key: [UInt8]? = nil) async throws -> STUNMessage {
        let bytes = message.encoded(key: key)
        let transaction = message.transaction
        let answer = channel.eventLoop.makePromise(of: STUNMessage.self)
        channel.eventLoop.execute { [self] in
            if let failure { return answer.fail(failure) }
            waiting = (transaction, answer)
            for delay in isStream ? [0] : [0, 500, 1_500] as [Int64] {
                let again = channel.eventLoop.scheduleTask(in: .milliseconds(delay)) {
                    channel.writeAndFlush(bytes, promise: nil)
                }
                answer.futureResult.whenComplete { _ in again.cancel() }
            }
        }
        return try await answer.futureResult.get()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard isStream else { return take(bytes) }
        received.writeBuffer(&bytes)
        while let head = received.getInteger(at: received.readerIndex, as: UInt32.self) {
            guard head >> 30 == 0 else { return end(Strange()) }
            guard let message = received.readSlice(length: 20 + Int(head & 0xFFFF)) else { return }
            take(message)
        }
    }

    private func take(_ bytes: ByteBuffer) {
        guard let message = STUNMessage(bytes.readableBytesView) else { return end(Strange()) }
        guard let (transaction, answer) = waiting, message.transaction == transaction else { return }
        waiting = nil
        answer.succeed(message)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end(Closed()) }

    /// Fails the request. Only the first reason is kept.
    private func end(_ error: any Error) {
        if failure == nil { failure = error }
        waiting?.answer.fail(error)
        waiting = nil
    }
}

/// Converts between addressed datagrams and bytes.
private final class Envelopes: ChannelDuplexHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let place: SocketAddress
    init(_ place: SocketAddress) { self.place = place }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(wrapInboundOut(unwrapInboundIn(data).data))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let envelope = AddressedEnvelope(remoteAddress: place, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(envelope), promise: promise)
    }
}
