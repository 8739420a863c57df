internal import Cryptography
import Glibc
import Identifiers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// Opens TLS 1.3 connections to a link's server and accepts only the certificate that the link names, or, with the flag
/// `webPKI`, one for the link's name that the system trusts.
package struct PinnedConnector: Sendable {
    let server: PinnedServer
    let group: any EventLoopGroup
    let timeout: Duration
    private let local: SocketAddress?
    /// Which addresses the server may have; nil: any.
    private let permits: (@Sendable (String) -> Bool)?
    /// The addresses of a name.
    private let lookup: @Sendable (_ host: String, _ limit: Duration) async -> [String]
    private let context: NIOSSLContext
    private let seen = SeenCertificate()

    /// The server's certificate (DER), which has the pinned fingerprint; nil before the first connection, and with
    /// `webPKI`.
    package var certificate: [UInt8]? { seen.bytes }

    /// - Parameter address: the numeric address to connect from; nil: the system's choice.
    init(
        to server: PinnedServer, group: any EventLoopGroup, timeout: Duration, from address: String? = nil,
        permits: (@Sendable (String) -> Bool)? = nil,
        lookup: @escaping @Sendable (_ host: String, _ limit: Duration) async -> [String] = {
            await ServerLookup.addresses(of: $0, limit: $1)
        }
    ) throws(SignalingError) {
        self.permits = permits
        self.lookup = lookup
        local = address.flatMap { try? SocketAddress(ipAddress: $0, port: 0) }
        self.server = server
        self.group = group
        self.timeout = timeout
        do {
            context = try server.flags.contains(.webPKI) ? TLSTrust.clientContext(minimum: .tlsv13) : Self.pinning()
        } catch {
            throw SignalingError(.unreachable, "TLS cannot be set up: \(error)")
        }
    }

    private static func pinning() throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv13
        // A server reads no close_notify while it sends an event stream; 5 s is NIO's default.
        tls.shutdownTimeout = .milliseconds(500)
        // The pinned certificate alone decides (see the verification callback in `tls`). Without roots, the system's
        // are not read.
        tls.trustRoots = .certificates([])
        tls.certificateVerification = .noHostnameVerification
        return try NIOSSLContext(configuration: tls)
    }

    private final class SeenCertificate: Sendable {
        private let state = Mutex<[UInt8]?>(nil)
        func note(_ bytes: [UInt8]) { state.withLock { $0 = bytes } }
        var bytes: [UInt8]? { state.withLock { $0 } }
    }

    /// Records what is wrong with the certificate. Set on the event loop.
    private final class Finding: Sendable {
        private let state = Mutex<SignalingError?>(nil)
        var error: SignalingError? {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// Fails `promise` if the handshake ends before the certificate has arrived, and fulfils it after the handshake.
    /// The TLS handler holds what is written before the handshake is complete.
    private final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        private let promise: EventLoopPromise<Void>
        private let onError: (any Error, ChannelHandlerContext) -> Void
        init(_ promise: EventLoopPromise<Void>, onError: @escaping (any Error, ChannelHandlerContext) -> Void) {
            self.promise = promise
            self.onError = onError
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted = event { promise.succeed(()) }
            context.fireUserInboundEventTriggered(event)
        }
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            onError(error, context)
            promise.fail(error)
            context.fireErrorCaught(error)
        }
        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(HTTPExchange.Closed())
            context.fireChannelInactive()
        }
        func handlerRemoved(context: ChannelHandlerContext) { promise.fail(HTTPExchange.Closed()) }
    }

    /// A connection, and its handshake. Each attempt to connect has its own.
    private struct Attempt: Sendable {
        let channel: any Channel
        let ready: EventLoopPromise<Void>
    }

    /// - Parameter timeout: time limit for TCP and TLS together; nil: `timeout`.
    func connect(timeout: Duration? = nil) async throws(SignalingError) -> any Channel {
        let end = NIODeadline.now() + TimeAmount(timeout ?? self.timeout)
        let finding = Finding()
        do {
            let attempt = try await open(until: end, finding)
            let deadline = attempt.channel.eventLoop.scheduleTask(deadline: end) {
                attempt.ready.fail(ChannelError.connectTimeout(.zero))
            }
            defer { deadline.cancel() }
            do {
                try await attempt.ready.futureResult.get()
                return attempt.channel
            } catch {
                attempt.channel.close(promise: nil)
                throw error
            }
        } catch {
            throw finding.error ?? explain(error)
        }
    }

    private func open(until end: NIODeadline, _ finding: Finding) async throws -> Attempt {
        var bootstrap = ClientBootstrap(group: group.next()).connectTimeout(end - .now())
        if let local { bootstrap = bootstrap.bind(to: local) }
        let start: @Sendable (any Channel) -> EventLoopFuture<Attempt> = { prepare($0, finding) }
        guard let permits else {
            guard let address = try? SocketAddress(ipAddress: server.host, port: server.port) else {
                return try await bootstrap.connect(host: server.host, port: server.port, channelInitializer: start)
            }
            return try await bootstrap.connect(to: address, channelInitializer: start)
        }
        // Resolved once: another lookup could give another address than the one that is checked.
        let known = await lookup(server.host, .nanoseconds((end - .now()).nanoseconds))
        let addresses = known.filter(permits).compactMap { try? SocketAddress(ipAddress: $0, port: server.port) }
        guard !addresses.isEmpty else {
            throw known.isEmpty ? SignalingError.unknown(server) : .notPermitted(server, at: known)
        }
        var failure: any Error = ChannelError.connectTimeout(.zero)
        for (index, address) in addresses.enumerated() {
            // The rest of the time is for this address and those after it.
            let limit = (end - .now()).nanoseconds / Int64(addresses.count - index)
            guard limit > 0 else { break }
            do {
                return try await bootstrap.connectTimeout(.nanoseconds(limit))
                    .connect(to: address, channelInitializer: start)
            } catch { failure = error }
        }
        throw failure
    }

    private func prepare(_ channel: any Channel, _ finding: Finding) -> EventLoopFuture<Attempt> {
        let ready = channel.eventLoop.makePromise(of: Void.self)
        return channel.eventLoop.makeCompletedFuture {
            do {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(tls(ready, finding))
                try pipeline.addHandler(HandshakeWatch(ready) { finding.error = finding.error ?? flaw($0, $1) })
                try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .forwardBytes)
                try pipeline.addHandler(HTTPExchange())
            } catch {
                ready.fail(error)
                throw error
            }
            return Attempt(channel: channel, ready: ready)
        }
    }

    /// - Parameter ready: fulfilled when the pinned certificate has arrived.
    private func tls(_ ready: EventLoopPromise<Void>, _ finding: Finding) throws -> NIOSSLClientHandler {
        let name = TLSTrust.serverName(server.host)
        guard !server.flags.contains(.webPKI) else {
            return try NIOSSLClientHandler(context: context, serverHostname: name)
        }
        let (server, seen) = (server, seen)
        return try NIOSSLClientHandler(context: context, serverHostname: name) { chain, verdict in
            let bytes = (try? chain.first?.toDERBytes()) ?? []
            let isExpected = !bytes.isEmpty && SHA256Hash(of: bytes).bytes == server.fingerprint
            if isExpected {
                seen.note(bytes)
                ready.succeed(())
            } else {
                finding.error = .certificateMismatch(server)
                ready.fail(HTTPExchange.Closed())
            }
            verdict.succeed(isExpected ? .certificateVerified : .failed)
        }
    }

    /// Returns what is wrong with a certificate that the system does not trust for this name; nil: the error is
    /// another.
    private func flaw(_ error: any Error, _ context: ChannelHandlerContext) -> SignalingError? {
        guard server.flags.contains(.webPKI) else { return nil }
        switch error {
        case let error as NIOSSLExtraError
        where [.failedToValidateHostname, .serverHostnameImpossibleToMatch].contains(error):
            return .certificateUntrusted(server, "is for another name")
        case NIOSSLError.handshakeFailed(let failure)
        where String(describing: failure).contains("CERTIFICATE_VERIFY_FAILED"):
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            let hasExpired = handler?.peerCertificate.map { $0.notValidAfter < time(nil) } ?? false
            return .certificateUntrusted(
                server, hasExpired ? "has expired" : "is not from an authority that this computer trusts")
        default: return nil
        }
    }

    func explain(_ error: any Error) -> SignalingError {
        let place = server.authority
        switch error {
        case let error as SignalingError: return error
        case let error as HTTPExchange.Unanswered: return explain(error.reason)
        case let error as NIOConnectionError:
            if let failure = error.connectionErrors.first { return explain(failure.error) }
            return .unknown(server)
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED:
                return .connectionRefused(port: server.port, at: server.host, role: server.role)
            case ENETUNREACH, EHOSTUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL:
                return SignalingError(
                    .unreachable,
                    "there is no route to \(place): are you on the same network, or does a firewall block it?")
            case ETIMEDOUT: return timedOut
            default: return .lost(server)
            }
        case ChannelError.connectTimeout: return timedOut
        case NIOSSLError.uncleanShutdown: return .lost(server)
        case is NIOSSLError, is BoringSSLError, is HTTPParserError, is HTTPResponseTooLong:
            return .notAShareHost(server, "it does not speak HTTPS as one does")
        default: return .lost(server)
        }
    }

    private var timedOut: SignalingError {
        SignalingError(
            .timedOut,
            "\(server.authority) does not answer: is the \(server.role) still running, and does a firewall let its port through?"
        )
    }
}
