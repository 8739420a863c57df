import Glibc
import HTTP
import NIOCore
import NIOPosix
import TLSTransport

/// Checks a STUN server with a Binding request, or a TURN server with an Allocate request.
public enum ServerProbe {
    /// Takes `limit` at most, and a moment more to release the relayed address.
    /// - Parameter permits: whether a resolved address may be asked.
    public static func ask(
        _ url: ServerURL, of server: ICEServer, limit: Duration = .seconds(3),
        permits: @Sendable (String) -> Bool = { _ in true }
    ) async -> ServerFinding {
        let addresses = await ServerLookup.addresses(of: url.host, limit: limit)
        let permitted = addresses.filter(permits)
        guard addresses.isEmpty || !permitted.isEmpty else { return .forbidden }
        guard let address = permitted.first, let place = try? SocketAddress(ipAddress: address, port: Int(url.port))
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
                        try channel.pipeline.syncOperations.addHandlers([DatagramAddressConverter(place), exchange])
                    }
                }.connect(to: place).get()
        }
        let context = url.transport == .tls ? try TLSTrust.clientContext() : nil
        return try await ClientBootstrap(group: group).connectTimeout(TimeAmount(limit))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        let tls = try TLSHandler(client: context, host: url.host)
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
        case is STUNExchange.MalformedResponse: .strange
        case TLSFailure.truncated: .silent
        case TLSFailure.library(let reason): .unreachable(reason)
        case is TLSFailure:
            .untrusted("its certificate or its TLS does not fit")
        default: .silent
        }
    }
}
