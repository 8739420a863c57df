import Glibc
package import HummingbirdCore
import Identity
package import Logging
package import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// hummingbird's HTTP/1.1 channel with three more handlers: ``ConnectionGuard``, TLS with the present certificate above
/// it, and ``ExchangeGuard`` above the HTTP decoder. ``RequestDecoder`` can be stopped.
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
        // A peer that has gone without a word is noticed by the next heartbeat: TCP would send it again for 15 minutes.
        _ = channel.setOption(
            ChannelOptions.socket(SocketOptionLevel(IPPROTO_TCP), SocketOptionName(TCP_USER_TIMEOUT)),
            value: SocketOptionValue(30_000))
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let below = ConnectionGuard(connections, timeouts)
            try pipeline.addHandler(below)
            let decoder = RequestDecoder(limits: decoderLimits)
            guard let context = tls.context else { throw ChannelError.ioOnClosedChannel }
            try pipeline.addHandlers(
                TLSHandler(server: context), HTTPResponseEncoder(), ByteToMessageHandler(decoder),
                ExchangeGuard(below, decoder), HTTP1ToHTTPServerCodec(secure: false),
                HTTPConnectionStateHandler(
                    idleTimeout: inner.configuration.idleTimeout.map { Duration($0) }, logger: logger))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        }
    }

    private var decoderLimits: NIOHTTPDecoderLimitConfiguration {
        let settings = inner.configuration.httpDecoder
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = settings.maxHeaderFieldSize
        limits.maxHeaderListSize = settings.maxHeaderListSize
        limits.maxHeaderFieldCount = settings.maxHeaderFieldCount
        return limits
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
