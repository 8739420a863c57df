import NIOCore
import NIOPosix
import Synchronization
import TLSTransport

@testable import HTTP
@testable import Identifiers
@testable import Signaling

/// A connection on which the test writes and reads bytes itself, with TLS or without.
struct RawConnection: Sendable {
    let channel: any Channel
    private let pieces: AsyncStream<String>

    private final class Inbox: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let feed: AsyncStream<String>.Continuation
        init(_ feed: AsyncStream<String>.Continuation) { self.feed = feed }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            feed.yield(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) { feed.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// - Parameters:
    ///   - source: the address to connect from, one of 127.0.0.0/8.
    ///   - tls: any certificate is accepted by default; nil for plain TCP.
    static func open(
        _ link: Link, from source: String? = nil, tls: TLSContext? = try? TLSContext(client: .any),
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> RawConnection {
        let (pieces, feed) = AsyncStream.makeStream(of: String.self)
        var bootstrap = ClientBootstrap(group: group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let tls { try pipeline.addHandler(TLSHandler(client: tls, host: link.host) { _ in true }) }
                try pipeline.addHandler(Inbox(feed))
            }
        }
        if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
        let channel = try await bootstrap.connect(host: link.host, port: link.port).get()
        return RawConnection(channel: channel, pieces: pieces)
    }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// All text until the peer closes the connection.
    func rest() async -> String {
        var text = ""
        for await piece in pieces { text += piece }
        return text
    }

    /// All text until it contains `end` or the peer closes the connection.
    func read(until end: String) async -> String {
        var text = ""
        for await piece in pieces {
            text += piece
            if text.contains(end) { break }
        }
        return text
    }
}
