import NIOCore
import NIOTLS

/// A client's connection whose TLS handshake goes on.
struct PendingHandshake: Sendable {
    let channel: any Channel
    private let ready: EventLoopPromise<Void>

    /// Adds TLS to a new channel. The handlers above are added next.
    /// - Parameter tls: nil: the connection has none.
    static func begin(on channel: any Channel, _ tls: TLSHandler?) throws -> PendingHandshake {
        let ready = channel.eventLoop.makePromise(of: Void.self)
        let pipeline = channel.pipeline.syncOperations
        do {
            if let tls { try pipeline.addHandlers([tls, Watch(ready)]) } else { ready.succeed() }
        } catch {
            ready.fail(error)
            throw error
        }
        return PendingHandshake(channel: channel, ready: ready)
    }

    /// Waits for the end of the handshake.
    /// - Throws: why it failed; the channel is closed then.
    func finish(until end: NIODeadline) async throws -> any Channel {
        let deadline = channel.eventLoop.scheduleTask(deadline: end) { ready.fail(ChannelError.connectTimeout(.zero)) }
        defer { deadline.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await ready.futureResult.get()
            } onCancel: {
                channel.close(promise: nil)
            }
            return channel
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }

    private final class Watch: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let ready: EventLoopPromise<Void>

        init(_ ready: EventLoopPromise<Void>) { self.ready = ready }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted = event { ready.succeed() }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            ready.fail(error)
            context.fireErrorCaught(error)
        }

        func channelInactive(context: ChannelHandlerContext) {
            ready.fail(HTTPExchange.Closed())
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) { ready.fail(HTTPExchange.Closed()) }
    }
}
