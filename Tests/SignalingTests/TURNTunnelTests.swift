import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HTTP
@testable import Signaling

/// Connections over a tunnel to a TURN server that a peer has named.
@Suite(.timeLimit(.minutes(1)))
struct TURNTunnelTests {
    /// Connects over the tunnel so many times, one after the other.
    private func connect(_ times: Int, to tunnel: TURNTunnel) async throws {
        for _ in 0..<times {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: Int(tunnel.port)).get()
            channel.writeAndFlush(STUNMessage(request: .allocate).encoded(), promise: nil)
            try await channel.closeFuture.get()
        }
    }

    /// Several tunnels of a session share the limit.
    @Test func aPortThatIsNoServerIsTriedAFewTimes() async throws {
        let server = try await ClosingServer { _ in nil }
        let url = try ServerURL("turn:127.0.0.1:\(server.port)?transport=tcp")
        let attempts = ConnectionAttempts()
        for _ in 0..<3 {
            let tunnel = try await TURNTunnel.open(to: url, address: "127.0.0.1", attempts: attempts)
            try await connect(15, to: tunnel)
            await tunnel.close()
        }
        #expect((1...20).contains(server.count), "\(server.count)")
        await server.close()
    }

    @Test func aServerThatSpeaksTURNIsNotLimited() async throws {
        let server = try await ClosingServer { STUNMessage($0)?.refused() }
        let url = try ServerURL("turn:127.0.0.1:\(server.port)?transport=tcp")
        let tunnel = try await TURNTunnel.open(to: url, address: "127.0.0.1", attempts: ConnectionAttempts())
        try await connect(40, to: tunnel)
        #expect(server.count == 40)
        await tunnel.close()
        await server.close()
    }
}

extension STUNMessage {
    /// The request's refusal with 486.
    fileprivate func refused() -> [UInt8] {
        var answer = STUNMessage(request: .allocate, transaction: transaction)
        answer.type |= Class.error.rawValue
        answer[.errorCode] = [0, 0, 4, 86]
        return Array(answer.encoded().readableBytesView)
    }
}

/// A TCP server that answers the first bytes of each connection, or does not, and closes it.
private final class ClosingServer: Sendable {
    let port: Int
    private let channel: any Channel
    private let accepted: Counter
    var count: Int { accepted.value.load(ordering: .relaxed) }

    private final class Counter: Sendable {
        let value = Atomic(0)
    }

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let answer: @Sendable ([UInt8]) -> [UInt8]?
        init(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]?) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let bytes = answer(Array(unwrapInboundIn(data).readableBytesView)) else {
                return context.close(promise: nil)
            }
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
                channel.close(promise: nil)
            }
        }
    }

    init(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]?) async throws {
        let accepted = Counter()
        self.accepted = accepted
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                accepted.value.add(1, ordering: .relaxed)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func close() async { try? await channel.close().get() }
}
