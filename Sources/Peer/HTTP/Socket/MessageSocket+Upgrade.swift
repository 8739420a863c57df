package import NIOCore
package import NIOHTTP1
import NIOWebSocket
import Synchronization

extension MessageSocket {
    /// A server's upgrade of a connection to a WebSocket, on a pipeline of NIO's own.
    /// - Parameters:
    ///   - limits: of the sockets.
    ///   - remove: removes the handlers that are not NIO's.
    ///   - accept: returns nil for a request that those handlers get; otherwise the socket and the subprotocol.
    package static func upgrade(
        limits: Limits = .init(), remove: @escaping @Sendable (ChannelPipeline.SynchronousOperations) -> Void,
        accept: @escaping @Sendable (HTTPRequestHead) async -> (upgrade: SocketUpgrade, chosen: String)?
    ) -> NIOHTTPServerUpgradeConfiguration {
        let accepted = AcceptedSocket()
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: limits.messageSize, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                let fields = channel.eventLoop.makePromise(of: HTTPHeaders?.self)
                fields.completeWithTask {
                    guard let (upgrade, chosen) = await accept(head) else { return nil }
                    accepted.upgrade.withLock { $0 = upgrade }
                    Task { await upgrade.run() }
                    // Also of one that the client gives up before it is open.
                    channel.closeFuture.whenComplete { _ in upgrade.socket.ended(nil) }
                    return ["Sec-WebSocket-Protocol": chosen]
                }
                return fields.futureResult
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    guard let upgrade = accepted.upgrade.withLock({ $0 }) else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    try channel.pipeline.syncOperations.addHandler(MessageSocketHandler(upgrade.socket))
                }
            })
        return (
            upgraders: [upgrader],
            completionHandler: { remove($0.pipeline.syncOperations) }
        )
    }
}

/// What a connection becomes.
private final class AcceptedSocket: Sendable {
    let upgrade = Mutex<SocketUpgrade?>(nil)
}
