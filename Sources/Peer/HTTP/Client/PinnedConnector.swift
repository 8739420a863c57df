internal import Cryptography
import Glibc
import Identifiers
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TLSTransport

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
    private let context: TLSContext
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
            context =
                try server.flags.contains(.webPKI)
                ? TLSTrust.clientContext(least: .tls13) : TLSContext(client: .any, least: .tls13)
        } catch {
            throw Self.unusable("\(error)")
        }
    }

    private final class SeenCertificate: Sendable {
        private let state = Mutex<[UInt8]?>(nil)
        func note(_ bytes: [UInt8]) { state.withLock { $0 = bytes } }
        var bytes: [UInt8]? { state.withLock { $0 } }
    }

    /// - Parameter timeout: time limit for TCP and TLS together; nil: `timeout`.
    func connect(timeout: Duration? = nil) async throws(SignalingError) -> any Channel {
        let end = NIODeadline.now() + TimeAmount(timeout ?? self.timeout)
        do {
            return try await open(until: end).finish(until: end)
        } catch {
            throw explain(error)
        }
    }

    private func open(until end: NIODeadline) async throws -> PendingHandshake {
        var bootstrap = ClientBootstrap(group: group.next()).connectTimeout(end - .now())
        if let local { bootstrap = bootstrap.bind(to: local) }
        let start: @Sendable (any Channel) -> EventLoopFuture<PendingHandshake> = { prepare($0) }
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

    private func prepare(_ channel: any Channel) -> EventLoopFuture<PendingHandshake> {
        channel.eventLoop.makeCompletedFuture {
            let handshake = try PendingHandshake.begin(on: channel, tls())
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .forwardBytes)
            try pipeline.addHandler(HTTPExchange())
            return handshake
        }
    }

    /// A server reads no close_notify while it sends an event stream.
    private static let closeTimeout = TimeAmount.milliseconds(500)

    private func tls() throws(TLSFailure) -> TLSHandler {
        guard !server.flags.contains(.webPKI) else {
            return try TLSHandler(client: context, host: server.host, closeTimeout: Self.closeTimeout)
        }
        // The pinned certificate alone decides.
        let (server, seen) = (server, seen)
        return try TLSHandler(client: context, host: server.host, closeTimeout: Self.closeTimeout) { certificate in
            guard !certificate.isEmpty, SHA256Hash(of: certificate).bytes == server.fingerprint else { return false }
            seen.note(certificate)
            return true
        }
    }

    private func explain(_ failure: TLSFailure) -> SignalingError {
        switch failure {
        case .refusedCertificate: .certificateMismatch(server)
        case .certificate(.otherName): .certificateUntrusted(server, "is for another name")
        case .certificate(.expired): .certificateUntrusted(server, "has expired")
        case .certificate(.notYetValid): .certificateUntrusted(server, "is not valid yet by this computer's clock")
        case .certificate(.weak): .certificateUntrusted(server, "has a key or a signature that is too weak")
        case .certificate(.untrusted):
            .certificateUntrusted(server, "is not from an authority that this computer trusts")
        case .truncated, .record: .lost(server)
        case .library(let reason): Self.unusable(reason)
        default: notHTTPS
        }
    }

    private static func unusable(_ reason: String) -> SignalingError {
        SignalingError(.unreachable, "TLS cannot be set up: \(reason)", remedy: "Check SSL_CERT_FILE, if it is set.")
    }

    private var notHTTPS: SignalingError { .notAShareHost(server, "it does not speak HTTPS as one does") }

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
        case let error as TLSFailure: return explain(error)
        case is HTTPParserError, is HTTPResponseTooLong: return notHTTPS
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
