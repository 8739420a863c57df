import Glibc
package import NIOCore
package import NIOPosix

/// The first handler of a listening socket's pipeline: accepts no connection for 200 ms after there were no descriptors
/// for one. NIO would try again at once, for ever, and its `AcceptBackoffHandler` does not prevent that if no other
/// connection was accepted before.
package final class AcceptPause: ChannelInboundHandler {
    package typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(200)

    package init() {}

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code),
            let options = context.channel.syncOptions
        else { return }
        try? options.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            try? options.setOption(.autoRead, value: true)
        }
    }
}

extension ServerBootstrap {
    /// With ``AcceptPause``.
    package func pausingWithoutDescriptors() -> ServerBootstrap {
        serverChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptPause()) }
        }
    }
}
