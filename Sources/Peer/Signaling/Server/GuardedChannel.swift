import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore

/// hummingbird's TLS and HTTP/1.1 channel with our guard below it.
struct GuardedChannel: ServerChildChannel {
    typealias Inner = TLSChannel<HTTP1Channel>
    typealias Value = Inner.Value

    let inner: Inner
    let connections: ConnectionRegister

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        do {
            try channel.pipeline.syncOperations.addHandler(ConnectionGuard(connections))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return inner.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await inner.handle(value: value, logger: logger)
    }
}

/// First in a connection's pipeline, below TLS.
///
/// A peer that half-closes is taken as gone, so that long polls and event streams end.
private final class ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connections: ConnectionRegister

    init(_ connections: ConnectionRegister) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        let loop = context.eventLoop
        let bound = NIOLoopBound(context, eventLoop: loop)
        // From this handler's place on: TLS, above, would wait for the other side's goodbye.
        connections.add(context.channel) { loop.execute { bound.value.close(promise: nil) } }
    }

    func handlerRemoved(context: ChannelHandlerContext) { connections.remove(context.channel) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

/// First in the listening socket's pipeline: closes who comes too often before a pipeline, TLS or a task costs anything.
final class DoorHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let connections: ConnectionRegister

    init(_ connections: ConnectionRegister) { self.connections = connections }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let visitor = unwrapInboundIn(data)
        let address = PeerAddress(visitor.remoteAddress).key
        guard connections.mayEnter(address) else {
            visitor.close(promise: nil)
            return
        }
        let connections = connections
        visitor.closeFuture.whenComplete { _ in connections.left(address) }
        context.fireChannelRead(data)
    }
}
