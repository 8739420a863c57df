import Glibc
package import HummingbirdCore
import Identity
package import Logging
package import NIOCore
import NIOHTTP1
import NIOSSL

/// hummingbird's HTTP/1.1 channel with three more handlers: ``ConnectionGuard``, TLS with the present certificate above
/// it, and ``ExchangeGuard`` above the HTTP decoder.
package struct GuardedChannel: ServerChildChannel {
    package typealias Inner = HTTP1Channel
    package typealias Value = Inner.Value

    let tls: PresentedCertificate
    let inner: Inner
    let connections: ConnectionRegistry
    let timeouts: ConnectionGuard.Timeouts

    package init(
        tls: PresentedCertificate, inner: HTTP1Channel, connections: ConnectionRegistry,
        timeouts: ConnectionGuard.Timeouts
    ) {
        (self.tls, self.inner, self.connections, self.timeouts) = (tls, inner, connections, timeouts)
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let (connections, timeouts) = (connections, timeouts)
        let (tls, inner, pipeline) = (tls, inner, channel.pipeline)
        // A peer that has gone without a word is noticed by the next heartbeat: TCP would send it again for 15 minutes.
        _ = channel.setOption(
            ChannelOptions.socket(SocketOptionLevel(IPPROTO_TCP), SocketOptionName(TCP_USER_TIMEOUT)),
            value: SocketOptionValue(30_000))
        return channel.eventLoop.makeCompletedFuture {
            try pipeline.syncOperations.addHandler(ConnectionGuard(connections, timeouts))
            guard let context = tls.context else { throw ChannelError.ioOnClosedChannel }
            try pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap {
            inner.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let operations = pipeline.syncOperations
            let decoder = try operations.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let below = try operations.handler(type: ConnectionGuard.self)
            try operations.addHandler(ExchangeGuard(below), position: .after(decoder))
            return value
        }
    }

    package func handle(value: Value, logger: Logger) async {
        await inner.handle(value: value, logger: logger)
    }
}

/// The first handler of the listening socket's pipeline. Closes connections over the limits before a pipeline, TLS or a
/// task is created for them.
package final class ConnectionAdmissionHandler: ChannelInboundHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel

    private let connections: ConnectionRegistry

    package init(_ connections: ConnectionRegistry) { self.connections = connections }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = unwrapInboundIn(data)
        let address = PeerAddress(child.remoteAddress?.ipAddress ?? "unknown").key
        guard connections.enter(child, address) else {
            child.close(promise: nil)
            return
        }
        let (connections, id) = (connections, ObjectIdentifier(child))
        child.closeFuture.whenComplete { _ in connections.left(id) }
        context.fireChannelRead(data)
    }
}
