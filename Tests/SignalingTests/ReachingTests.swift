import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import TLSTransport
import Testing

@testable import HTTP
@testable import Identifiers
@testable import Identity
@testable import Signaling

/// Hosts that do not answer, and ports that cannot be used. Each case has its own sentence.
@Suite(.timeLimit(.minutes(1))) struct ReachingTests {
    private func knock(_ host: String, _ port: Int, timeout: Duration = .seconds(5)) async throws -> SignalingError
        .Code?
    {
        var configuration = SignalingClient.Configuration()
        configuration.connectTimeout = timeout
        configuration.answerTimeout = timeout
        let link = Link(
            host: host, port: port, id: .random(), secret: Link.randomSecret(), fingerprint: randomFingerprint())
        let client = try SignalingClient(link: link, configuration: configuration)
        let code = await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) }
        await client.close()
        await client.close()
        return code
    }

    /// A TCP port of 127.0.0.1.
    /// - Parameter prepare: called with each connection, on its event loop.
    private func withListener(
        _ prepare: @escaping @Sendable (any Channel) throws -> Void, _ body: (Int) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try prepare(channel) }
        }.bind(host: "127.0.0.1", port: 0).get()
        try await body(listener.localAddress?.port ?? 0)
        try await listener.close()
        try await group.shutdownGracefully()
    }

    @Test func aClosedPortIsExplained() async throws {
        // Bound but not listening, so that no other test gets this port meanwhile.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        let port = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            // struct sockaddr_in: the family, the port and the address in network order.
            bytes.copyBytes(from: [UInt8(AF_INET), 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
            var size = socklen_t(16)
            let address = bytes.bindMemory(to: sockaddr.self).baseAddress
            _ = bind(descriptor, address, size)
            _ = getsockname(descriptor, address, &size)
            return Int(bytes[2]) << 8 | Int(bytes[3])
        }
        #expect(try await knock("127.0.0.1", port) == .connectionRefused)
        #expect(try await knock("localhost", port) == .connectionRefused)
    }

    @Test func anUnknownHostNameIsExplained() async throws {
        #expect(try await knock("no-such-host.invalid", 443) == .unknownHost)
    }

    @Test func anotherServerIsExplained() async throws {
        try await withListener { channel in
            channel.writeAndFlush(ByteBuffer(string: "220 mail.example ESMTP\r\n"), promise: nil)
        } _: { port in
            let code = try await knock("127.0.0.1", port)
            #expect(code == .notAShareHost)
        }
    }

    @Test func aSilentServerIsExplained() async throws {
        try await withListener { _ in
        } _: { port in
            let code = try await knock("127.0.0.1", port, timeout: .milliseconds(50))
            #expect(code == .timedOut)
        }
    }

    /// An idle connection that the server has ended meanwhile is replaced, also where TLS was not closed.
    @Test func aRequestOnAConnectionThatWasCutIsRepeated() async throws {
        let identity = try Identity.ephemeral()
        let context = try TLSContext(certificateDER: identity.certificateDER, keyDER: identity.privateKeyDER)
        try await withListener { channel in
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(TLSHandler(server: context))
            try pipeline.configureHTTPServerPipeline()
            try pipeline.addHandler(AnswerOnce())
        } _: { port in
            let link = Link(
                host: "127.0.0.1", port: port, id: .random(), secret: Link.randomSecret(),
                fingerprint: identity.fingerprint)
            let client = try PinnedHTTPClient(to: PinnedServer(link), configuration: .init())
            for _ in 0..<3 { #expect(try await client.ask(.GET, "/").status == 204) }
            await client.close()
        }
    }

    /// Answers the first request of a connection. At the second one it closes TCP without the end of TLS.
    private final class AnswerOnce: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        private var hasAnswered = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            guard !hasAnswered else {
                let tls = try? context.pipeline.syncOperations.context(handlerType: TLSHandler.self)
                tls?.close(promise: nil)
                return
            }
            hasAnswered = true
            context.write(wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .noContent))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    @Test func aLinkOfAnotherBroadcastIsExplained() async throws {
        try await SignalingFixture.with { stage in
            let old = Link(
                host: stage.link.host, port: stage.link.port, id: .random(), secret: stage.link.secret,
                fingerprint: stage.link.fingerprint)
            try await stage.client(old) { client in
                let code = await code { _ = try await client.knock(name: "", fingerprint: randomFingerprint()) }
                #expect(code == .oldLink)
            }
        }
    }

    @Test func unusablePortsAreExplained() async throws {
        func start(_ host: String, _ port: Int) async throws -> SignalingServerError.Code? {
            let server = SignalingServer(
                identity: try Identity.ephemeral(), configuration: .init(host: host, port: port))
            do {
                _ = try await server.start()
                await server.stop()
                return nil
            } catch {
                await server.stop()
                return error.code
            }
        }
        try await SignalingFixture.with { stage in
            let codes = [
                try await start("127.0.0.1", stage.link.port), try await start("192.0.2.1", 0),
                try await start("no-such-host.invalid", 0),
            ]
            #expect(codes == [.portInUse, .addressNotHere, .unknownHost])
        }
    }

    @Test func stopComesTwiceAndFreesThePort() async throws {
        // An address that no other test uses, so that none takes the port in between.
        let host = "127.0.0.77"
        let identity = try Identity.ephemeral()
        let first = SignalingServer(identity: identity, configuration: .init(host: host))
        let port = try await first.start()
        await first.stop()
        await first.stop()
        let second = SignalingServer(identity: identity, configuration: .init(host: host, port: port))
        #expect(try await second.start() == port)
        await second.stop()
    }
}
